/** The messages from the supervisor to a worker. */
export type ToWorker =
  /** Refuse new requests, finish the requests in flight, and exit. */
  | { readonly kind: "stop" }
  | { readonly kind: "question"; readonly id: number; readonly question: string }
  /** The answers to a question that this worker asked. */
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly unknown[] };

/** The messages from a worker to the supervisor. */
export type ToSupervisor =
  | { readonly kind: "listening" }
  | { readonly kind: "ask"; readonly id: number; readonly question: string; readonly timeoutMs: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown };
