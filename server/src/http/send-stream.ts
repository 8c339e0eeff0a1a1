import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { StreamResult, StreamSink } from "../contract/stream-result.ts";
import type { Exchange } from "./exchange.ts";
import { isPlainHttp, listenersOf } from "./node-connection.ts";
import { discardPipelined } from "./one-at-a-time.ts";

/** The events of a connection to which the HTTP server listens, each by functions with these names. */
const httpListeners: Readonly<Record<string, RegExp>> = {
  data: /^bound socketOnData$/,
  end: /^bound socketOnEnd$/,
  close: /^bound socketOnClose$/,
  drain: /^bound socketOnDrain$/,
  error: /^socketOnError$/,
  timeout: /^socketOnTimeout$/,
};

/**
 * Sends the head of a response, and takes its connection from the HTTP server of Node.js, as that does for a protocol
 * upgrade: parser, request and response take more memory than the connection, and are garbage afterwards. What the
 * client sends from then on is ignored.
 *
 * @returns undefined if that is not possible, for example because the client has sent another request
 */
function detachConnection(response: ServerResponse): Socket | undefined {
  const { req: request, socket } = response;
  if (socket === null || !request.complete || !isPlainHttp(socket)) return undefined;
  const { parser } = socket;
  if (parser === null || parser.incoming !== request || socket._httpMessage !== response) return undefined;
  if (!hasKnownListeners(socket)) return undefined;
  response.flushHeaders();
  socket.on("data", ignore); // the HTTP server gives up reading by itself then
  response.detachSocket(socket);
  for (const [event, name] of Object.entries(httpListeners)) {
    for (const listener of listenersOf(socket, event, name)) socket.removeListener(event, listener);
  }
  socket.on("error", ignore); // it closes as well
  socket.on("end", endWithClient);
  socket.parser = null;
  parser.remove();
  setImmediate(() => parser.close()); // it may be running now
  socket.resume();
  return socket;
}

/** Another release of Node.js may do something else with its connections. */
function hasKnownListeners(socket: Socket): boolean {
  return Object.entries(httpListeners).every(([event, name]) => listenersOf(socket, event, name).length === 1);
}

function ignore(): void {}

function endWithClient(this: Socket): void {
  this.destroy();
}

/** The time that a client has to read the rest of a stream that has ended. */
const restMsMax = 5_000;
/** The connections of open streams that no HTTP server knows any more. */
const detached = new Set<Socket>();

/**
 * Sends the head of a response that stays open, and hands over its body. The body ends with the connection, so that the
 * same bytes go to every client, without the framing of chunks.
 *
 * @throws ApiError
 */
export function sendStream(exchange: Exchange, stream: StreamResult): void {
  const { response } = exchange;
  const headers = { ...stream.headers, connection: "close" };
  // A client that has gone is reported once, before there is a stream that could end.
  if (exchange.method === "HEAD" || response.destroyed) {
    exchange.setHeaders(headers);
    exchange.send(200);
    return;
  }
  const begin = stream.open();
  exchange.setHeaders(headers);
  response.useChunkedEncodingByDefault = false;
  exchange.writeHead(200);
  exchange.isStreaming = true;
  const connection = response.socket;
  if (connection !== null) discardPipelined(connection);
  connection?.cork(); // the head and the first bytes are one write
  const socket = detachConnection(response);
  if (socket !== undefined) {
    detached.add(socket);
    socket.once("close", forget);
  }
  try {
    begin(socket === undefined ? new Sink(response, endResponse) : new Sink(socket, endConnection));
  } finally {
    connection?.uncork();
  }
}

/** Cuts the streams of a server at once. */
export function cutStreams(server: Server): void {
  for (const socket of detached) if ("server" in socket && socket.server === server) socket.destroy();
}

function forget(this: Socket): void {
  detached.delete(this);
}

function endResponse(response: ServerResponse, bytes: Uint8Array): void {
  response.end(bytes);
  cutLater(response);
}

function endConnection(socket: Socket, bytes: Uint8Array): void {
  socket.end(bytes);
  socket.destroySoon();
  cutLater(socket);
}

/** A client that reads nothing would keep its connection, which counts as a stream no longer. */
function cutLater(target: ServerResponse | Socket): void {
  const timer = setTimeout(() => target.destroy(), restMsMax).unref();
  target.once("close", () => clearTimeout(timer));
}

class Sink<Target extends ServerResponse | Socket> implements StreamSink {
  readonly #target: Target;
  readonly #end: (target: Target, bytes: Uint8Array) => void;

  constructor(target: Target, end: (target: Target, bytes: Uint8Array) => void) {
    this.#target = target;
    this.#end = end;
  }

  get waitingBytes(): number {
    return this.#target.writableLength;
  }

  write(bytes: Uint8Array): void {
    this.#target.write(bytes);
  }

  end(bytes: Uint8Array): void {
    this.#end(this.#target, bytes);
  }

  cut(): void {
    this.#target.destroy();
  }

  onDrain(listener: () => void): void {
    this.#target.once("drain", listener);
  }

  onClose(listener: () => void): void {
    this.#target.once("close", listener);
  }
}
