import type { Call } from "../wire/call.ts";
import type { Principal } from "./principal.ts";

/** How often a failed call is repeated; `false` is never. */
export type Retry = { readonly repeats?: number } | false;

export interface CallOptions {
  /** Ends the call, with its waits and repeats. */
  readonly signal?: AbortSignal | undefined;
  /** Limits the call with all its attempts and waits; 90 s by default. */
  readonly timeoutMs?: number;
  /** Repeats an earlier call of the same content without doing it twice. */
  readonly idempotencyKey?: string | undefined;
  readonly retry?: Retry;
  /** Further headers; `Authorization`, `Content-Type` and `Idempotency-Key` are refused. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Handed to interceptors. */
  readonly context?: unknown;
}

/** How a successful call went. */
export interface Meta {
  readonly status: number;
  readonly requestId: string;
  /** Whether the service answered from the response that it had stored under the key. */
  readonly replayed: boolean;
  readonly attempts: number;
  readonly durationMs: number;
}

/** A call under way. */
export interface Sent<T> extends Promise<T> {
  /** Rejects with the error of the call, which is reported once although it is not read. */
  readonly meta: Promise<Meta>;
}

/** Sends calls, and repeats them until they are answered or their time is up. */
export interface Transport {
  /** The request begins in the next microtask. */
  send<T>(call: Call<T>, principal: Principal, options?: CallOptions): Sent<T>;
  /** Ends all calls under way with AbortedError, and refuses further ones. */
  close(): void;
}
