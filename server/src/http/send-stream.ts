import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { StreamResult, StreamSink } from "../contract/stream-result.ts";
import type { Exchange } from "./exchange.ts";
import { isPlainHttp, listenersOf } from "./node-connection.ts";
import { discardPipelined } from "./pipelines.ts";

/** The events of a connection to which the HTTP server listens, and the names of its listeners. */
const httpListeners: Readonly<Record<string, RegExp>> = {
  data: /^bound socketOnData$/,
  end: /^bound socketOnEnd$/,
  close: /^bound socketOnClose$/,
  drain: /^bound socketOnDrain$/,
  error: /^socketOnError$/,
  timeout: /^socketOnTimeout$/,
};

/**
 * Sends the head of a response, and takes its connection from the HTTP server of Node.js, as for a protocol upgrade:
 * then parser, request and response, which take more memory than the connection, can be garbage collected. Later bytes
 * of the client are ignored.
 *
 * @returns undefined if that is impossible, for example because the client has sent another request
 */
function detachConnection(response: ServerResponse): Socket | undefined {
  const { req: request, socket } = response;
  if (socket === null || !request.complete || !isPlainHttp(socket)) return undefined;
  const { parser } = socket;
  if (parser === null || parser.incoming !== request || socket._httpMessage !== response) return undefined;
  if (!hasKnownListeners(socket)) return undefined;
  response.flushHeaders();
  socket.on("data", ignore); // makes the HTTP server stop reading in the parser
  response.detachSocket(socket);
  for (const [event, name] of Object.entries(httpListeners)) {
    for (const listener of listenersOf(socket, event, name)) socket.removeListener(event, listener);
  }
  socket.on("error", ignore); // "close" follows
  socket.on("end", endWithClient);
  socket.parser = null;
  parser.remove();
  setImmediate(() => parser.close()); // this may be a callback of the parser
  socket.resume();
  return socket;
}

/** False in a release of Node.js that handles connections differently. */
function hasKnownListeners(socket: Socket): boolean {
  return Object.entries(httpListeners).every(([event, name]) => listenersOf(socket, event, name).length === 1);
}

function ignore(): void {}

function endWithClient(this: Socket): void {
  this.destroy();
}

/** The time that a client has to read the rest of a closed stream. */
const drainMsMax = 5_000;
/** The detached connections of open streams. */
const detached = new Set<Socket>();

/**
 * Sends the head of a stream, and passes its body to the stream as a sink. The end of the connection delimits the body,
 * so that the same bytes, without chunk framing, go to every client.
 *
 * @throws ApiError
 */
export function sendStream(exchange: Exchange, stream: StreamResult): void {
  const { response } = exchange;
  const headers = { ...stream.headers, connection: "close" };
  // For a client that has disconnected, do not open a stream: its close event has already been emitted.
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
  connection?.cork(); // sends the head and the first bytes in one write
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

/** Cuts all streams of a server. */
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

/** A client that reads nothing would hold its connection open, which no longer counts as a stream. */
function cutLater(target: ServerResponse | Socket): void {
  const timer = setTimeout(() => target.destroy(), drainMsMax).unref();
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
