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

/** Follows requests through what they come to. */
export interface RequestTracer {
  /** @returns undefined for one that is not recorded */
  begin(request: TracedRequest): RequestTrace | undefined;
}

export interface RequestTrace extends TraceNode {
  /** Counts once. @param answered undefined when the connection ended first */
  finish(answered: AnsweredCall | undefined): void;
}
