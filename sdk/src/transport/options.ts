import type { Clock } from "../lib/clock.ts";
import type { Logger } from "./logger.ts";
import type { Progress } from "./progress.ts";

/** The number of retries of a failed call, at most 10; `false` is never. */
export type Retry = { readonly repeats?: number } | false;

export interface Timeouts {
  /** Of one attempt; 30 s by default. */
  readonly attemptMs?: number | undefined;
  /** Of a call with all its attempts and waits; 90 s by default. */
  readonly totalMs?: number | undefined;
  /** Of a transfer, without a byte; 60 s by default. */
  readonly stallMs?: number | undefined;
}

export interface TransportOptions {
  readonly fetch?: typeof fetch | undefined;
  readonly retry?: Retry | undefined;
  readonly timeouts?: Timeouts | undefined;
  /** With `get-post`, PUT, PATCH and DELETE are sent in batches, for networks that pass no other verb. */
  readonly methods?: "all" | "get-post" | undefined;
  /** The first word of `Authorization`; `Service` by default. */
  readonly scheme?: string | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
}

export interface CallOptions {
  /** Ends the call, with its waits and retries. */
  readonly signal?: AbortSignal | undefined;
  /** Limits the call with all its attempts and waits; 90 s by default. */
  readonly timeoutMs?: number | undefined;
  /** Repeats an earlier call of the same content; the service applies it once. */
  readonly idempotencyKey?: string | undefined;
  readonly retry?: Retry | undefined;
  /** Further headers; `Authorization`, `Content-Type` and `Idempotency-Key` are refused. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Passed to interceptors. */
  readonly context?: unknown;
  /** Called while a file is uploaded or downloaded, at most ten times a second. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The metadata of a successful call. */
export interface Meta {
  readonly status: number;
  readonly requestId: string;
  /** Whether the service answered from the response that it had stored under the key. */
  readonly replayed: boolean;
  readonly attempts: number;
  readonly durationMs: number;
}

/** A pending call. */
export interface Sent<T> extends Promise<T> {
  /** Rejects with the error of the call. A `meta` that is not read is no unhandled rejection. */
  readonly meta: Promise<Meta>;
}

/** Returns the second word of `Authorization` of a request. The path is below the root, as sent, without the query. */
export type Signer = (method: string, path: string) => string | Promise<string>;
