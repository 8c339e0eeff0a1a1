import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/**
 * The undocumented properties that the HTTP server of Node.js adds to its connections. They may differ between
 * releases.
 */
export interface HttpConnection extends Socket {
  /** Null when the connection is closed, or no longer belongs to the HTTP server. */
  parser: HttpParser | null;
  /** The response to the unanswered request, until all of it has been handed to the operating system. */
  _httpMessage: (ServerResponse & { readonly req: IncomingMessage; readonly _last: boolean }) | null | undefined;
}

export interface HttpParser {
  readonly incoming: IncomingMessage | null;
  /** Called when the head of a request is complete; return {@link pausedCode} to pause the parser. */
  onIncoming(request: IncomingMessage, keepsAlive: boolean): number;
  /** Parses bytes of the connection. @returns the number of parsed bytes, which an error has as a property */
  execute(bytes: Uint8Array): ParseResult;
  resume(): void;
  /** Returns a copy of the bytes that were parsed last; valid in the listener for parsed bytes only. */
  getCurrentBuffer(): Buffer;
  remove(): void;
  close(): void;
  [listener: number]: (result: ParseResult) => void;
}

export type ParseResult = number | (Error & { readonly code: string; readonly bytesParsed: number });

/** HPE_PAUSED of llhttp. */
export const pausedCode = 21;

export function isPlainHttp(socket: Socket): socket is HttpConnection {
  return isHttp(socket) && !("encrypted" in socket);
}

export function isHttp(socket: Socket): socket is HttpConnection {
  return "parser" in socket && socket.parser != null && socket instanceof Socket;
}

/** Returns the listeners of Node.js for an event of a connection. */
export function listenersOf(socket: Socket, event: string, name: RegExp): ((...args: unknown[]) => void)[] {
  const listeners = socket.listeners(event) as ((...args: unknown[]) => void)[]; // listeners are functions
  return listeners.filter((listener) => name.test(listener.name));
}
