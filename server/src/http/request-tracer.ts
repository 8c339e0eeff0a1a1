import type { IncomingHttpHeaders } from "node:http";
import type { TraceNode } from "../lib/current-call.ts";
import type { AnsweredCall } from "./request-observer.ts";

/** A request that arrives. */
export interface TracedRequest {
  readonly requestId: string;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly isSecure: boolean;
  readonly headers: IncomingHttpHeaders;
}

/** Traces requests. */
export interface RequestTracer {
  /** @returns undefined for a request that is not sampled */
  begin(request: TracedRequest): RequestTrace | undefined;
}

export interface RequestTrace extends TraceNode {
  /** Only the first call counts. @param answered undefined when the connection ended first */
  finish(answered: AnsweredCall | undefined): void;
}
