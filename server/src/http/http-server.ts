import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { workerNumber } from "../config/worker-number.ts";
import { createServer } from "../lib/builtins.ts";
import { addressGroup, createAddressBlocks, isLoopback, unmapIpv4 } from "../lib/ip-addresses.ts";
import { answerBrokenRequest, type BrokenRequest } from "./broken-request.ts";
import type { Certificate } from "./certificate.ts";
import type { InFlight } from "./in-flight.ts";
import { lingerOn } from "./linger.ts";
import { listenOnOtherAddresses } from "./listening.ts";
import { noteReleased } from "./memory-relief.ts";
import { createPipelines } from "./pipelines.ts";
import type { RequestHandler } from "./request-handler.ts";
import type { RequestObserver } from "./request-observer.ts";
import { cutStreams } from "./send-stream.ts";
import { createTlsServer } from "./tls-server.ts";
import { isUploading } from "./upload.ts";

/** Bounds the open connections of a process, in total and by address, so that one client cannot take them all. */
interface ConnectionLimits {
  /** Counts the connection until it closes, or destroys it if a limit is reached. */
  admit(socket: Socket): void;
}

/** The rest of the file descriptors is for files, the database and outgoing calls. */
const shareOfOpenFiles = 3 / 4;
/** High, because many phones may share one address. */
const shareOfAddress = 1 / 4;
/** Assumed where the operating system does not report its limit. */
const openFilesDefault = 4_096;
/** The memory of a connection with its parser and a request. */
const connectionBytes = 16_384;
/** Closing this many connections frees enough memory for a garbage collection. */
const manyConnections = 2_048;
const warnEveryMs = 60_000;

interface ConnectionLimitOptions {
  /** Undefined to derive it from the limit of open files. */
  readonly connectionsMax: number | undefined;
  readonly connectionsPerAddressMax: number | undefined;
  /** Whether the address belongs to a trusted proxy, whose connections serve many clients. */
  isProxy(address: string): boolean;
  readonly log: { warn(details: object, line: string): void };
}

export function createConnectionLimits(options: ConnectionLimitOptions): ConnectionLimits {
  const max = options.connectionsMax ?? Math.max(1, Math.floor(readOpenFilesMax() * shareOfOpenFiles));
  const perAddressMax = options.connectionsPerAddressMax ?? Math.max(1, Math.floor(max * shareOfAddress));
  const byAddress = new Map<string, number>();
  let open = 0;
  /** The maximum of `open` since the last call of `noteReleased`. */
  let peak = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function refuse(socket: Socket, address: string): void {
    socket.destroy();
    const now = performance.now();
    if (now - warnedAt < warnEveryMs) return;
    warnedAt = now;
    options.log.warn({ address, connections: open }, "too many connections: new ones are closed");
  }

  function release(group: string): void {
    open -= 1;
    const left = (byAddress.get(group) ?? 1) - 1;
    if (left > 0) byAddress.set(group, left);
    else byAddress.delete(group);
    if (peak - open < manyConnections) return;
    noteReleased((peak - open) * connectionBytes);
    peak = open;
  }

  return {
    admit(socket) {
      const address = unmapIpv4(socket.remoteAddress ?? "");
      const group = addressGroup(address);
      const count = byAddress.get(group) ?? 0;
      const isBounded = !isLoopback(address) && !options.isProxy(address);
      if (open >= max || (isBounded && count >= perAddressMax)) {
        refuse(socket, address);
        return;
      }
      open += 1;
      peak = Math.max(peak, open);
      byAddress.set(group, count + 1);
      socket.once("close", () => release(group));
    },
  };
}

/** Returns how many file descriptors the process may have open. */
export function readOpenFilesMax(): number {
  if (process.platform !== "linux") return openFilesDefault;
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? openFilesDefault : Number(soft);
}

export interface HttpServer {
  /** @returns the port, which the system chooses when `port` is 0 */
  listen(host: string, port: number): Promise<number>;
  /** The URL of the server on this machine; empty until it listens. */
  url(): string;
  /** The URL of the server for other machines of the network. */
  networkUrl(): string;
  /** Checks immediately for a new certificate, instead of at the next poll. */
  reloadCertificate(): Promise<void>;
  /** When the certificate expires, in `Date.now()` milliseconds; undefined without https. */
  certificateEnds(): number | undefined;
  /** Stops accepting connections, lets requests in flight finish, and closes the rest after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

export interface HttpServerOptions {
  readonly config: Pick<
    Config,
    | "headerBytesMax"
    | "requestTimeoutMs"
    | "keepAliveTimeoutMs"
    | "connectionsMax"
    | "connectionsPerAddressMax"
    | "trustedProxies"
    | "tls"
  >;
  /** The contents of the files of `config.tls`. */
  readonly certificate: Certificate | undefined;
  readonly log: Log;
  /** Counts connections; undefined when metrics are off. */
  readonly observer: RequestObserver;
  readonly inFlight: Pick<InFlight, "holdFrom">;
}

/** Less than one read of the socket, so that Node.js buffers one chunk of an unread body, not two. */
const waitingBytesMax = 32_768;

/**
 * Creates the http or https server of Node.js with its limits. Answers input that Node.js cannot parse as a request, in
 * the envelope; `handler` answers everything else.
 */
export function createHttpServer(
  { config, certificate, log, observer, inFlight }: HttpServerOptions,
  handler: RequestHandler,
): HttpServer {
  const limits = {
    maxHeaderSize: config.headerBytesMax,
    headersTimeout: config.requestTimeoutMs, // if it were longer, Node.js would enforce neither time-out
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    connectionsCheckingInterval: 1_000,
    highWaterMark: waitingBytesMax,
    optimizeEmptyRequests: true, // creates no body stream for a request without a body
    requireHostHeader: false, // `framingFault` refuses it, in the envelope
  };
  const tls =
    config.tls === undefined || certificate === undefined
      ? undefined
      : createTlsServer(config.tls, certificate, { ...limits, handshakeTimeout: config.requestTimeoutMs }, log);
  const server: Server = tls?.server ?? createServer(limits);
  const pipelines = createPipelines({
    requestTimeoutMs: config.requestTimeoutMs,
    holdBytes: ({ remoteAddress = "" }) => inFlight.holdFrom(remoteAddress),
  });

  const proxies = createAddressBlocks(config.trustedProxies);
  const connections = createConnectionLimits({ ...config, isProxy: proxies.contain, log });

  function refuse(error: BrokenRequest, socket: Socket): void {
    const answered = answerBrokenRequest(error, socket, log);
    if (answered !== undefined) observer.answered(answered);
  }

  server.on("clientError", (error: Error & BrokenRequest, socket: Socket) => {
    // An upload may take any time as long as it makes progress: `receiveUpload` aborts stalled ones.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isUploading(socket)) return;
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && pipelines.postponeTimeout(socket, error)) return;
    if (tls?.refuseHandshake(error, socket)) return;
    refuse(error, socket);
  });
  // Node.js would answer these two without the envelope.
  server.on("checkExpectation", ({ socket }: IncomingMessage) => refuse({ code: "EXPECTATION" }, socket));
  server.on("connect", ({ socket }: IncomingMessage) => refuse({ code: "CONNECT" }, socket));
  server.on("request", handler);
  server.on("connection", connections.admit);
  server.on("connection", observer.connected);
  server.on(tls === undefined ? "connection" : "secureConnection", pipelines.add);

  let url = "";
  let networkUrl = "";
  let closeOthers = async () => {};
  return {
    async listen(host, port) {
      // On Linux, workers share the port; elsewhere, the supervisor distributes the connections.
      const reusePort = workerNumber !== undefined && process.platform === "linux";
      server.listen({ host, port, reusePort });
      await once(server, "listening"); // rejects with the error of the operating system
      const address = server.address();
      const boundPort = typeof address === "object" && address !== null ? address.port : port;
      if (tls === undefined) closeOthers = await listenOnOtherAddresses(server, { host, port: boundPort, reusePort });
      const { local, network } = reachableHosts(host);
      const urlAt = (name: string) =>
        `${tls === undefined ? "http" : "https"}://${name.includes(":") ? `[${name}]` : name}:${boundPort}`;
      url = urlAt(local);
      networkUrl = urlAt(network);
      return boundPort;
    },
    url: () => url,
    networkUrl: () => networkUrl,
    reloadCertificate: async () => tls?.reloadCertificate(),
    certificateEnds: () => tls?.certificateEnds(),
    async drain(graceMs) {
      if (server.listening) await lingerOn(server, graceMs);
      // `close` closes only the connections that are idle now, so the sweep closes each one that becomes idle later.
      const sweep = setInterval(() => {
        server.closeIdleConnections();
        tls?.closeHandshakes();
      }, 20);
      const cut = setTimeout(() => {
        server.closeAllConnections();
        cutStreams(server);
      }, graceMs);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([closed, closeOthers()]);
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

/** Returns host names that clients can connect to, in place of a wildcard address such as `0.0.0.0`. */
function reachableHosts(host: string): { readonly local: string; readonly network: string } {
  if (!["0.0.0.0", "::", ""].includes(host)) return { local: host, network: host };
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const external = addresses.find(({ internal, family }) => !internal && family === "IPv4");
  return { local: "127.0.0.1", network: external?.address ?? "127.0.0.1" };
}
