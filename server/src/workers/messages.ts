/** What the supervisor says to a worker. */
export type ToWorker =
  /** Refuse what is new, finish what is in flight, and end. */
  | { readonly kind: "stop" }
  | { readonly kind: "question"; readonly id: number; readonly question: string }
  /** What came of a question that this worker asked. */
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly unknown[] };

/** What a worker says to the supervisor. */
export type ToSupervisor =
  | { readonly kind: "listening" }
  | { readonly kind: "ask"; readonly id: number; readonly question: string; readonly timeoutMs: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown };

/** Set by the supervisor for its workers alone. */
export const workerVariable = "ROLLCALL_WORKER";
