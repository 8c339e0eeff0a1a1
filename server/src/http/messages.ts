import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export type HeaderValue = string | number;

/** A request of node:http or of the fast path, without its body. */
export interface RequestHead {
  readonly method?: string | undefined;
  /** The target of the request. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
}

/** `finish`: it is sent; `error`: it cannot be; `close`: either. */
export type ResponseEvent = "finish" | "close" | "error";

/** A response of node:http or of the fast path, without what only streams need. */
export interface ResponseHandle {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** Whether the operating system has taken the response. */
  readonly writableFinished: boolean;
  /** Whether the response is sent, or cannot be sent any more. */
  readonly destroyed: boolean;
  on(event: ResponseEvent, listener: (this: ResponseHandle) => void): unknown;
  once(event: ResponseEvent, listener: (this: ResponseHandle) => void): unknown;
  off(event: ResponseEvent, listener: (this: ResponseHandle) => void): unknown;
  setTimeout(ms: number, listener: () => void): unknown;
  writeHead(status: number, headers: Readonly<Record<string, HeaderValue>>): unknown;
  end(body: string | Buffer | undefined, encoding: "latin1" | "utf8"): unknown;
  /** Cuts the connection. */
  destroy(): unknown;
}

/** A request of node:http as a stream, and its response as one. */
export interface NodeStreams {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A request of the fast path, which has arrived completely. */
export interface FastRequest extends RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
  /** Undefined for a request without a body. */
  readonly body: Buffer | undefined;
  /** Whether its head arrived after the server had begun to shut down. */
  readonly isLate: boolean;
}
