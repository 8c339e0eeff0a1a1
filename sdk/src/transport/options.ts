import type { Clock } from "../lib/clock.ts";
import type { Logger } from "./logger.ts";
import type { Progress } from "./progress.ts";

/** The number of retries of a failed call: at most 10, 3 by default. `false` disables retries. */
export type Retry = { readonly repeats?: number } | false;

export interface Timeouts {
  /** The time limit of one attempt, in ms; 30,000 by default. */
  readonly attemptMs?: number | undefined;
  /** The time limit of a call with all its attempts and delays, in ms; 90,000 by default. */
  readonly totalMs?: number | undefined;
  /** How long a transfer may stall without a byte, in ms; 60,000 by default. */
  readonly stallMs?: number | undefined;
}

export interface TransportOptions {
  readonly fetch?: typeof fetch | undefined;
  readonly retry?: Retry | undefined;
  readonly timeouts?: Timeouts | undefined;
  /** With `get-post`, PUT, PATCH and DELETE are sent in `POST /batch`, for networks that block these methods. */
  readonly methods?: "all" | "get-post" | undefined;
  /** The scheme of the `Authorization` header; `Service` by default. */
  readonly scheme?: string | undefined;
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
}

export interface CallOptions {
  /** Aborts the call, including its delays and retries. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of the call with all its attempts and delays, in ms; 90,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** Makes a retry safe: the service applies calls with the same key and content only once. */
  readonly idempotencyKey?: string | undefined;
  readonly retry?: Retry | undefined;
  /** Additional headers; `Authorization`, `Content-Type` and `Idempotency-Key` are refused. */
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
  /** Whether the service returned the response that it had stored for the idempotency key. */
  readonly replayed: boolean;
  readonly attempts: number;
  readonly durationMs: number;
}

/** A pending call. */
export interface Sent<T> extends Promise<T> {
  /** Rejects with the error of the call, but never as an unhandled rejection. */
  readonly meta: Promise<Meta>;
}

/** Returns the credentials for the `Authorization` header. `path` is relative to the root, as sent, without the query. */
export type Signer = (method: string, path: string) => string | Promise<string>;
