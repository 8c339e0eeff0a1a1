import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
} from "fastify";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import { type CurrentCall, runInCall } from "../lib/current-call.ts";
import { workerNumber } from "../workers/worker.ts";
import { readBody } from "./body.ts";
import { answerBrokenRequest, type BrokenRequest } from "./broken-request.ts";
import type { Certificate } from "./certificate.ts";
import { allowAnyOrigin, answerPreflight, exposedHeaders, isPreflight } from "./cors.ts";
import { type Endpoint, mountEndpoint, optionsHeaders, readableHeaders } from "./endpoint.ts";
import { errorReply, newRequestId, sendReply, toApiError } from "./envelope.ts";
import { type GuardedPage, mountGuardedPage } from "./guarded-page.ts";
import { type InternalEndpoint, mountInternalEndpoint } from "./internal-endpoint.ts";
import { lingerOn } from "./linger.ts";
import { mountOperation } from "./mount.ts";
import type { Authenticate, Operation, RequireServed } from "./operations.ts";
import { createPeers } from "./peer.ts";
import type { RateLimits } from "./rate-limits.ts";
import { describeRequest, logRequest, pathOf } from "./request-log.ts";
import type { RequestObserver } from "./request-observer.ts";
import type { RequestTrace, RequestTracer } from "./request-tracer.ts";
import type { AnyCaller } from "./route.ts";
import { createTlsServer } from "./tls-server.ts";
import { createTurn } from "./turn.ts";
import { isUploading } from "./upload.ts";
import { mountPage, type Page } from "./web-page.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: AnyCaller | undefined;
    /** The name of the operation, once it is known. */
    operation: string | undefined;
    /** Undefined where nobody wants to know what runs. */
    call: CurrentCall | undefined;
    trace: RequestTrace | undefined;
    /** The IP address of the client. `ip` is that of the connection, which may be a proxy's. */
    address: string;
    /** The label of the body, hidden from the framework (see `hideContentType`). */
    contentType: string | undefined;
    /** What was refused and why, for the log. */
    failure: ApiError | undefined;
  }
}

export interface TransportOptions {
  readonly config: Pick<
    Config,
    | "bodyBytesMax"
    | "fileBytesMax"
    | "headerBytesMax"
    | "requestTimeoutMs"
    | "keepAliveTimeoutMs"
    | "authSchemes"
    | "tls"
    | "trustedProxies"
    | "requireHttps"
    | "hstsMaxAgeSeconds"
    | "logSample"
    | "slowQueryMs"
  >;
  /** What the files of `config.tls` hold. */
  readonly certificate: Certificate | undefined;
  readonly log: Logger;
  readonly operations: readonly Operation[];
  readonly endpoints: readonly Endpoint[];
  readonly internalEndpoints: readonly InternalEndpoint[];
  readonly pages: readonly Page[];
  readonly guardedPages: readonly GuardedPage[];
  /** Counts; undefined where nobody wants to know. */
  readonly observer: RequestObserver | undefined;
  /** Undefined where nothing is traced. */
  readonly tracer: RequestTracer | undefined;
  /** Runs before the requests of a turn of the event loop are authenticated (see `createTurn`). */
  beginTurn(): void;
  readonly authenticate: Authenticate;
  readonly rateLimits: RateLimits;
  readonly requireServed: RequireServed | undefined;
  /** True once the process is on its way out: new requests are refused. */
  isDraining(): boolean;
}

/** The HTTP server, not listening yet. */
export interface Transport {
  readonly server: FastifyInstance;
  /** @returns the port, which differs from the one asked for when that is 0 */
  listen(host: string, port: number): Promise<number>;
  /** The address that it listens on, once it does. */
  url(): string;
  /** Looks at once whether there is a new certificate, as it else does every few seconds. */
  reloadCertificate(): Promise<void>;
  /** Stops accepting, lets requests in flight finish, and cuts what is left after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

/**
 * The HTTP server with all its settings (surface.md section 1): every answer in the envelope, whoever refuses; bodies
 * read by their content, not their label; one log line per request, never with a query, a header or a body in it.
 */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const { config, certificate, log, observer, tracer } = options;
  const namesCalls = tracer !== undefined || config.slowQueryMs > 0;
  const peers = createPeers(config.trustedProxies);
  const hsts = config.tls !== undefined || config.requireHttps ? `max-age=${config.hstsMaxAgeSeconds}` : undefined;
  const httpOptions = {
    maxHeaderSize: config.headerBytesMax,
    headersTimeout: config.requestTimeoutMs, // Node enforces neither time-out when this one is the longer
    connectionsCheckingInterval: 1_000,
    requireHostHeader: false, // refused in the envelope below
  };
  const { requestTimeoutMs: requestTimeout, keepAliveTimeoutMs: keepAliveTimeout } = config;
  const tls =
    config.tls === undefined || certificate === undefined
      ? undefined
      : createTlsServer(
          config.tls,
          certificate,
          { ...httpOptions, requestTimeout, keepAliveTimeout, handshakeTimeout: requestTimeout },
          log,
        );
  const server = Fastify({
    logger: false, // one line per request is written below, for a tenth of the cost
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: config.bodyBytesMax,
    requestTimeout,
    keepAliveTimeout,
    http: httpOptions,
    ...(tls !== undefined && { serverFactory: serveBy(tls.server) }),
    exposeHeadRoutes: false,
    return503OnClosing: false, // refused in the envelope below
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: config.headerBytesMax,
      querystringParser: asIs, // read by the route that wants it
    },
    frameworkErrors: (error, request, reply) => {
      // These run no hooks, so what hooks do is done here.
      begin(request, reply);
      answerError(error, request, reply);
      finish(request, reply);
    },
    clientErrorHandler: (error, socket) => {
      // An upload may take as long as it goes on: `receiveUpload` ends those that do not.
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isUploading(socket)) return;
      if (tls?.refuseHandshake(error, socket)) return;
      refuseBroken(error, socket);
    },
  });

  server.decorateRequest("caller", undefined);
  server.decorateRequest("operation", undefined);
  server.decorateRequest("call", undefined);
  server.decorateRequest("trace", undefined);
  server.decorateRequest("address", "");
  server.decorateRequest("contentType", undefined);
  server.decorateRequest("failure", undefined);

  const exposed = exposedHeaders(options.endpoints.flatMap(readableHeaders));

  /** What every request begins with, whatever comes of it. */
  function begin(request: FastifyRequest, reply: FastifyReply): void {
    observer?.began(reply.raw);
    request.address = peers.addressOf(request.raw);
    allowAnyOrigin(reply, request, exposed);
    reply.header("x-content-type-options", "nosniff");
    if (hsts !== undefined && peers.isSecure(request.raw)) reply.header("strict-transport-security", hsts);
  }

  function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const failure = toApiError(error);
    request.failure = failure;
    if (failure.serviceRoot !== undefined) request.address = ""; // a matter of another region: not ours to write down
    if (failure.condition === "InternalError") {
      log.error({ request_id: request.id, err: failure.cause ?? failure }, "request failed");
    }
    sendReply(reply, errorReply(failure));
  }

  /** What is told of whatever takes long from here on. */
  function beginCall(request: FastifyRequest, reply: FastifyReply): CurrentCall {
    const { id: requestId, method, raw } = request;
    const isSecure = peers.isSecure(raw);
    const trace = tracer?.begin({ requestId, method, path: pathOf(request.url), isSecure, headers: raw.headers });
    if (trace !== undefined) reply.raw.once("close", () => trace.finish(undefined));
    request.trace = trace;
    request.call = { requestId, trace };
    return request.call;
  }

  /** What every request ends with. */
  function finish(request: FastifyRequest, reply: FastifyReply): void {
    const answered = describeRequest(request, reply);
    observer?.answered(answered);
    request.trace?.finish(answered);
    logRequest(log, request, answered, config.logSample);
  }

  function refuseBroken(error: BrokenRequest, socket: Socket): void {
    const answered = answerBrokenRequest(error, socket, log);
    if (answered !== undefined) observer?.answered(answered);
  }

  // Node would answer these two without a body.
  server.server.on("checkExpectation", ({ socket }: IncomingMessage) => refuseBroken({ code: "EXPECTATION" }, socket));
  server.server.on("connect", ({ socket }: IncomingMessage) => refuseBroken({ code: "CONNECT" }, socket));
  if (observer !== undefined) server.server.on("connection", observer.connected);
  server.setErrorHandler(answerError);
  server.setNotFoundHandler((request, reply) => answerError(new ApiError("OperationNotFound"), request, reply));

  const endOfTurn = createTurn(options.beginTurn);
  server.addHook("onRequest", (request, reply, done) => {
    begin(request, reply);
    // Before anything else is looked at; a preflight too, or the browser would send the token next.
    if (config.requireHttps && isInClear(request)) {
      done(new ApiError("HttpsRequired"));
      return;
    }
    if (request.method === "OPTIONS") {
      const told = optionsHeaders(options.endpoints, pathOf(request.url));
      if (told !== undefined || isPreflight(request)) {
        reply.headers(told ?? {});
        answerPreflight(request, reply);
        return;
      }
    }
    endOfTurn((failure) => {
      if (namesCalls) runInCall(beginCall(request, reply), () => done(failure));
      else done(failure);
    });
  });
  server.addHook("onRequest", (request, reply, done) => {
    if (options.isDraining()) {
      reply.header("connection", "close");
      done(new ApiError("ServiceUnavailable", "The server is shutting down."));
      return;
    }
    if (request.raw.headers.host === undefined && request.raw.httpVersion === "1.1") {
      done(new ApiError("ParameterIncorrectFormat", "The Host header is missing.")); // Node would refuse without a body
      return;
    }
    if (request.is404) {
      done(new ApiError("OperationNotFound")); // before its body is read
      return;
    }
    hideContentType(request);
    done();
  });

  server.addHook("onResponse", (request, reply, done) => {
    finish(request, reply);
    done();
  });

  server.removeAllContentTypeParsers();
  // Judged by the route: what fails here makes the framework close the connection.
  server.addContentTypeParser("*", async (request: FastifyRequest) =>
    request.routeOptions.config.isUpload ? undefined : readBody(request.raw, config.bodyBytesMax),
  );

  for (const operation of options.operations) {
    mountOperation(server, operation, {
      authenticate: options.authenticate,
      limits: config,
      scheme: config.authSchemes[0] ?? "",
    });
  }
  for (const endpoint of options.endpoints) {
    mountEndpoint(server, endpoint, {
      authenticate: options.authenticate,
      limits: config,
      rateLimits: options.rateLimits,
      requireServed: options.requireServed,
    });
  }
  for (const endpoint of options.internalEndpoints) mountInternalEndpoint(server, endpoint);
  for (const page of options.pages) mountPage(server, page);
  for (const page of options.guardedPages) mountGuardedPage(server, page);

  function isInClear({ raw, routeOptions }: FastifyRequest): boolean {
    return !peers.isSecure(raw) && !peers.isLocal(raw) && routeOptions.config.mayBeClear !== true;
  }

  let url = "";
  return {
    server,
    async listen(host, port) {
      // Workers share the port; where the system cannot do that, the supervisor takes the connections and hands them out.
      const reusePort = workerNumber !== undefined && process.platform === "linux";
      const place = { host, port, reusePort };
      await server.listen(place); // which hands on what it does not know
      const address = server.server.address();
      const taken = typeof address === "object" && address !== null ? address.port : port;
      url = `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${taken}`;
      return taken;
    },
    url: () => url,
    reloadCertificate: async () => tls?.reloadCertificate(),
    async drain(graceMs) {
      if (server.server.listening) await lingerOn(server.server, graceMs);
      // The server closes the connections that are idle now; those that become idle later are for us to close.
      const sweep = setInterval(() => {
        server.server.closeIdleConnections();
        tls?.closeHandshakes();
      }, 20);
      const cut = setTimeout(() => server.server.closeAllConnections(), graceMs);
      await server.close();
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function serveBy(server: Server): FastifyServerFactory {
  return (handler) => server.on("request", handler);
}

/** The framework would choose a parser by the label and refuse labels that it cannot read. */
function hideContentType(request: FastifyRequest): void {
  const { headers } = request.raw;
  if (headers["content-type"] === undefined) return;
  request.contentType = headers["content-type"];
  headers["content-type"] = undefined;
}

function asIs(query: string): Record<string, unknown> {
  return query as unknown as Record<string, unknown>; // Fastify hands `request.query` on untouched
}
