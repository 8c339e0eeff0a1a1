import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isPlainHttp, listenersOf } from "./node-connection.ts";

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
export function detachConnection(response: ServerResponse): Socket | undefined {
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
