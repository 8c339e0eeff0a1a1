import type { Operation } from "../wire/call.ts";

/** What an interceptor sees of a request. Headers that it adds are sent; `Authorization` reads as `[secret]`. */
export interface InterceptedRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Without the query, which may hold what users have written. */
  readonly path: string;
  readonly headers: Headers;
  /** What the app has passed in the options of the call. */
  readonly context?: unknown;
  /** From 1 on; absent around a whole call. */
  readonly attempt?: number;
}

/** Code of the app around each call, with all its attempts, or around each attempt. */
export interface Interceptor {
  call?(request: InterceptedRequest, next: () => Promise<unknown>): Promise<unknown>;
  attempt?(request: InterceptedRequest, next: () => Promise<Response>): Promise<Response>;
}

/** The headers that no app sets: the client decides them. */
export const ownHeaders: readonly string[] = ["authorization", "content-type", "idempotency-key"];
