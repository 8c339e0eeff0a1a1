import { AsyncLocalStorage } from "node:async_hooks";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Config } from "../config.ts";
import { uncountedBytesMax } from "./body.ts";
import type { BrokenRequest } from "./broken-request.ts";
import { FastConnection, type FastConnectionOptions } from "./fast-connection.ts";

export interface FastPathOptions {
  readonly limits: Pick<Config, "headerBytesMax" | "bodyBytesMax" | "requestTimeoutMs" | "keepAliveTimeoutMs">;
  readonly find: FastConnectionOptions["find"];
  readonly answer: FastConnectionOptions["answer"];
  /** Sends a refusal to a client that does not send a whole request. */
  refuse(error: BrokenRequest, socket: Socket): void;
  readonly isDraining: FastConnectionOptions["isDraining"];
}

/** The connections of a server that node:http does not know. */
export interface FastPath {
  /**
   * Whether the first request that node:http reads from a connection is one whose head had arrived before the server began
   * to shut down. Can be asked once.
   */
  hasBegun(socket: Socket): boolean;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Apps and devices send less than this; what is larger is rare, and costs more than its head. */
const headBytesMax = 8_192;
/** Clients that send head and body separately do so within one round trip. */
const restMsMax = 200;
/** How often idle connections are checked, as in node:http. */
const checkMs = 1_000;
/** An idle connection stays open for longer than its client expects, as in node:http: a last request may be on its way. */
const keepAliveExtraMs = 1_000;

/**
 * Puts the fast path in front of a server of node:http (docs/decisions/0034-fast-path.md). Requests that it does not
 * take are read by node:http as if they had arrived there.
 */
export function openFastPath(server: Server, { limits, find, answer, refuse, isDraining }: FastPathOptions): FastPath {
  const connections = new Set<FastConnection>();
  const begun = new WeakSet<Socket>();
  const [readByNode] = server.listeners("connection");
  if (readByNode === undefined) throw new Error("node:http has no listener for connections.");
  server.removeListener("connection", readByNode as (socket: Socket) => void);
  const outsideOfCalls = AsyncLocalStorage.snapshot();

  const options: FastConnectionOptions = {
    headBytesMax: Math.min(headBytesMax, limits.headerBytesMax),
    bodyBytesMax: Math.min(uncountedBytesMax, limits.bodyBytesMax),
    restMsMax: Math.min(restMsMax, limits.requestTimeoutMs / 4),
    keepAliveLines: `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(limits.keepAliveTimeoutMs / 1_000)}\r\n`,
    find,
    answer,
    isDraining,
    handOver(connection, bytes, hasBegun) {
      const { socket } = connection;
      if (hasBegun) begun.add(socket);
      connections.delete(connection);
      connection.release();
      socket.pause(); // otherwise bytes that are put back while it flows would wait for the next ones
      socket.unshift(bytes);
      // A response that has just ended would otherwise lend its call to the next request.
      outsideOfCalls(() => {
        readByNode.call(server, socket);
        socket.resume();
      });
    },
    refuse: refuseConnection,
    onClose: (connection) => connections.delete(connection),
  };

  function refuseConnection(error: BrokenRequest, connection: FastConnection): void {
    connection.ignoreRest();
    refuse(error, connection.socket);
  }

  function closeLateConnections(): void {
    const now = performance.now();
    for (const connection of connections) {
      if (!connection.isIdle) continue;
      const idleMs = now - connection.idleSince;
      if (connection.isUsed) {
        if (idleMs >= limits.keepAliveTimeoutMs + keepAliveExtraMs) connection.socket.destroy();
      } else if (idleMs >= limits.requestTimeoutMs) {
        connections.delete(connection);
        refuseConnection({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, connection);
      }
    }
  }

  server.on("connection", (socket: Socket) => connections.add(new FastConnection(socket, options)));
  let check: NodeJS.Timeout | undefined;
  server.on("listening", () => {
    check = setInterval(closeLateConnections, Math.min(checkMs, limits.keepAliveTimeoutMs)).unref();
  });
  server.on("close", () => clearInterval(check));

  return {
    hasBegun: (socket) => begun.delete(socket),
    closeIdleConnections() {
      for (const connection of connections) if (connection.isIdle) connection.socket.destroy();
    },
    closeAllConnections() {
      for (const { socket } of connections) socket.destroy();
    },
  };
}
