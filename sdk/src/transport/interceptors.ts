import type { Operation } from "../wire/call.ts";

/** The request as an interceptor sees it. Headers that it adds are sent; `Authorization` reads as `[secret]`. */
export interface InterceptedRequest {
  readonly operation: Operation;
  readonly method: string;
  /** Without the query, which may contain texts of users. */
  readonly path: string;
  readonly headers: Headers;
  /** The context that the app has passed in the options of the call. */
  readonly context?: unknown;
  /** From 1 on; absent around a whole call. */
  readonly attempt?: number;
}

/** Code of the app around each call, with all its attempts, or around each attempt. */
export interface Interceptor {
  call?(request: InterceptedRequest, next: () => Promise<unknown>): Promise<unknown>;
  attempt?(request: InterceptedRequest, next: () => Promise<Response>): Promise<Response>;
}

/** The headers that no app may set, because the client sets them. */
export const ownHeaders: readonly string[] = ["authorization", "content-type", "idempotency-key"];
