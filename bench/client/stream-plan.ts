/** What the process with the clients of streams is asked to do. */
export type StreamOrder =
  /** Opens streams, and answers when all are ready. */
  | { readonly kind: "open"; readonly port: number; readonly tokens: readonly string[]; readonly perToken: number }
  /** Forgets what has been received. */
  | { readonly kind: "reset" }
  /** Answers when every open stream has received so many events, or after a time. */
  | { readonly kind: "received"; readonly events: number; readonly msMax: number }
  /** Cuts all connections at once, and lets the clients come back as each stream has told them; answers when all are ready. */
  | { readonly kind: "cut"; readonly msMax: number }
  /** Cuts all connections at once, and keeps the clients away. */
  | { readonly kind: "leave" }
  /** Lets them come back as after a cut; answers when all are ready and have received so many events. */
  | { readonly kind: "return"; readonly events: number; readonly msMax: number }
  | { readonly kind: "close" };

export interface StreamReport {
  /** Streams that are ready. */
  readonly ready: number;
  /** Streams that have received as many events as were waited for. */
  readonly complete: number;
  /** From the time in each event to its arrival, in milliseconds, rising. */
  readonly latencies: readonly number[];
  readonly tookMs: number;
  /** Connections that were refused, and tried again. */
  readonly refusals: number;
}
