import type { IncomingHttpHeaders } from "node:http";
import type { TraceNode } from "../lib/current-call.ts";
import type { AnsweredCall } from "./request-observer.ts";

export interface TracedRequest {
  readonly requestId: string;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly isSecure: boolean;
  readonly headers: IncomingHttpHeaders;
}

export interface RequestTracer {
  /** @returns undefined for a request that is not sampled */
  begin(request: TracedRequest): RequestTrace | undefined;
}

export interface RequestTrace extends TraceNode {
  /** Ignored after the first call. @param answered undefined if the connection closed before the response */
  finish(answered: AnsweredCall | undefined): void;
}
