import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { AnyCaller } from "../contract/route.ts";
import type { TraceNode } from "../lib/current-call.ts";
import type { ApiError, TokenHolder } from "../lib/errors.ts";

/** An answered call. */
export interface AnsweredCall {
  readonly requestId: string;
  /** When it was answered, in `Date.now()` milliseconds. */
  readonly at: number;
  readonly method: string | undefined;
  /** Without its query. */
  readonly path: string | undefined;
  /** The IP address of the client; empty if it must not be logged. */
  readonly address: string;
  /** For an item of a batch: the id of the request that contains it. */
  readonly batch?: string;
  /** The operation name, or one of `notOperations`. */
  readonly operation: string | undefined;
  readonly status: number;
  readonly ms: number;
  readonly caller: AnyCaller | undefined;
  /** Whether the request had a valid signature; absent for items of a batch. */
  readonly isSigned?: boolean;
  /** The origin of the web page, as its browser sent it; absent for items of a batch. */
  readonly origin?: string | undefined;
  /** The application of a call that registers a device, and so has no caller. */
  readonly applicationId?: string | undefined;
  readonly failure: ApiError | undefined;
  /** The subject of a refused token. */
  readonly refused?: TokenHolder | undefined;
  /** The failure that the client rehearsed. */
  readonly rehearsed?: string | undefined;
}

/** Is notified of connections and requests, to count them. Runs for each of them, so it must be cheap. */
export interface RequestObserver {
  connected(socket: Socket): void;
  began(response: ServerResponse): void;
  /** The response is a stream, which no longer counts as a request. Called once, before `answered`. */
  streams(response: ServerResponse): void;
  answered(call: AnsweredCall): void;
  /** Called for each item of a batch, in addition to `answered` for the batch. */
  answeredItem(call: AnsweredCall): void;
}

/** Combines two observers. */
export function joinObservers(own: RequestObserver, metrics: RequestObserver | undefined): RequestObserver {
  if (metrics === undefined) return own;
  return {
    connected(socket) {
      own.connected(socket);
      metrics.connected(socket);
    },
    began(response) {
      own.began(response);
      metrics.began(response);
    },
    streams(response) {
      own.streams(response);
      metrics.streams(response);
    },
    answered(call) {
      own.answered(call);
      metrics.answered(call);
    },
    answeredItem(call) {
      own.answeredItem(call);
      metrics.answeredItem(call);
    },
  };
}

/** The names of requests without an operation: a fixed set, because clients choose the paths. */
export const notOperations = {
  /** An unknown path, or an unknown verb. */
  unknown: "(unknown)",
  /** A CORS preflight. */
  preflight: "(preflight)",
  /** The documentation. */
  page: "(page)",
  /** Input that could not be parsed as a request. */
  broken: "(broken)",
} as const;

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
