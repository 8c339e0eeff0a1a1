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
import { workerNumber } from "../worker-number.ts";
import { readBody } from "./body.ts";
import { answerBrokenRequest, type BrokenRequest } from "./broken-request.ts";
import type { Certificate } from "./certificate.ts";
import { allowAnyOrigin, answerPreflight, exposedHeaders, isPreflight } from "./cors.ts";
import { type Endpoint, mountEndpoint, optionsHeaders, readableHeaders } from "./endpoint.ts";
import { errorReply, newRequestId, sendReply, toApiError } from "./envelope.ts";
import { framingFault } from "./framing.ts";
import { type GuardedPage, mountGuardedPage } from "./guarded-page.ts";
import { keepQuery } from "./http-call.ts";
import type { InFlight } from "./in-flight.ts";
import { type InternalEndpoint, mountInternalEndpoint } from "./internal-endpoint.ts";
import { type LandingPage, mountLandingPage } from "./landing-page.ts";
import { lingerOn } from "./linger.ts";
import { mountOperation } from "./mount.ts";
import type { Authenticate, Operation, RequireServed } from "./operations.ts";
import { createPeers } from "./peer.ts";
import type { RateLimits } from "./rate-limits.ts";
import { describeRequest, logRequest, pathOf } from "./request-log.ts";
import type { RequestObserver } from "./request-observer.ts";
import type { RequestTrace, RequestTracer } from "./request-tracer.ts";
import type { AnyCaller } from "./route.ts";
import { createTick } from "./tick.ts";
import { createTlsServer } from "./tls-server.ts";
import { isUploading } from "./upload.ts";
import { mountPage, type Page } from "./web-page.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: AnyCaller | undefined;
    /** The operation name, once it is known. */
    operation: string | undefined;
    /** Undefined when running calls are not observed. */
    call: CurrentCall | undefined;
    trace: RequestTrace | undefined;
    /** The IP address of the client. `ip` is that of the connection, which may be a proxy's. */
    address: string;
    /** The content type, hidden from the framework (see `hideContentType`). */
    contentType: string | undefined;
    /** The refusal and its reason, for the log. */
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
  /** The certificate from the files of `config.tls`. */
  readonly certificate: Certificate | undefined;
  readonly log: Logger;
  readonly operations: readonly Operation[];
  readonly endpoints: readonly Endpoint[];
  readonly internalEndpoints: readonly InternalEndpoint[];
  readonly pages: readonly Page[];
  readonly landingPage: LandingPage;
  readonly guardedPages: readonly GuardedPage[];
  /** Counts requests; undefined when metrics are off. */
  readonly observer: RequestObserver | undefined;
  /** Undefined when tracing is off. */
  readonly tracer: RequestTracer | undefined;
  /** Runs before the requests of a tick are authenticated (see `createTick`). */
  beginTick(): void;
  readonly authenticate: Authenticate;
  readonly rateLimits: RateLimits;
  readonly inFlight: InFlight;
  readonly requireServed: RequireServed | undefined;
  /** True while the process is shutting down: new requests are refused. */
  isDraining(): boolean;
}

/** The HTTP server. */
export interface Transport {
  readonly server: FastifyInstance;
  /** @returns the port, which the system chooses when `port` is 0 */
  listen(host: string, port: number): Promise<number>;
  /** The URL of the server, once it listens. */
  url(): string;
  /** Checks immediately for a new certificate, which otherwise happens every few seconds. */
  reloadCertificate(): Promise<void>;
  /** Stops accepting connections, lets requests in flight finish, and closes the rest after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

/**
 * Creates the HTTP server with all its settings (spec/transport): every response, including errors, uses the envelope;
 * bodies are parsed by content, not by content type; each request has one log line, which never contains a query, a
 * header or a body.
 */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const { config, certificate, log, observer, tracer, inFlight } = options;
  const namesCalls = tracer !== undefined || config.slowQueryMs > 0;
  const peers = createPeers(config.trustedProxies);
  const hsts = config.tls !== undefined || config.requireHttps ? `max-age=${config.hstsMaxAgeSeconds}` : undefined;
  const httpOptions = {
    maxHeaderSize: config.headerBytesMax,
    headersTimeout: config.requestTimeoutMs, // Node enforces neither time-out if this one is longer
    connectionsCheckingInterval: 1_000,
    highWaterMark: waitingBytesMax,
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
      querystringParser: keepQuery, // parsed by the routes that need it
    },
    frameworkErrors: (error, request, reply) => {
      // These handlers run no hooks, so their work is repeated here.
      begin(request, reply);
      answerError(error, request, reply);
      finish(request, reply);
    },
    clientErrorHandler: (error, socket) => {
      // An upload may take any time as long as it makes progress: `receiveUpload` ends stalled ones.
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

  /** Runs at the start of every request. */
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
    if (failure.serviceRoot !== undefined) request.address = ""; // the request belongs to another region, so its address must not be logged here
    if (failure.condition === "InternalError") {
      log.error({ request_id: request.id, err: failure.cause ?? failure }, "request failed");
    }
    sendReply(reply, errorReply(failure));
  }

  /** The context for reports of slow work in this request. */
  function beginCall(request: FastifyRequest, reply: FastifyReply): CurrentCall {
    const { id: requestId, method, raw } = request;
    const isSecure = peers.isSecure(raw);
    const trace = tracer?.begin({ requestId, method, path: pathOf(request.url), isSecure, headers: raw.headers });
    if (trace !== undefined) reply.raw.once("close", () => trace.finish(undefined));
    request.trace = trace;
    request.call = { requestId, trace };
    return request.call;
  }

  /** Runs at the end of every request. */
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

  const endOfTick = createTick(options.beginTick);
  server.addHook("onRequest", (request, reply, done) => {
    begin(request, reply);
    // Runs before all other checks, and also for a preflight: otherwise the browser would send the token next.
    if (config.requireHttps && isPlainHttp(request)) {
      done(new ApiError("HttpsRequired"));
      return;
    }
    if (request.method === "OPTIONS") {
      const headers = optionsHeaders(options.endpoints, pathOf(request.url));
      if (headers !== undefined || isPreflight(request)) {
        reply.headers(headers ?? {});
        answerPreflight(request, reply);
        return;
      }
    }
    endOfTick((failure) => {
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
    const fault = framingFault(request.raw);
    if (fault !== undefined) {
      reply.header("connection", "close"); // a proxy may mistake what follows for another request
      done(new ApiError("ParameterIncorrectFormat", fault));
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
  // The route reports parse errors; an error here would make the framework close the connection.
  server.addContentTypeParser("*", async (request: FastifyRequest) =>
    request.routeOptions.config.isUpload
      ? undefined
      : readBody(request.raw, config.bodyBytesMax, () => inFlight.hold(request)),
  );

  for (const operation of options.operations) {
    mountOperation(server, operation, {
      authenticate: options.authenticate,
      limits: config,
      inFlight,
      scheme: config.authSchemes[0] ?? "",
      isSecure: peers.isSecure,
    });
  }
  for (const endpoint of options.endpoints) {
    mountEndpoint(server, endpoint, {
      authenticate: options.authenticate,
      limits: config,
      inFlight,
      rateLimits: options.rateLimits,
      requireServed: options.requireServed,
    });
  }
  for (const endpoint of options.internalEndpoints) mountInternalEndpoint(server, endpoint);
  for (const page of options.pages) mountPage(server, page);
  mountLandingPage(server, options.landingPage);
  for (const page of options.guardedPages) mountGuardedPage(server, page);

  function isPlainHttp({ raw, routeOptions }: FastifyRequest): boolean {
    return !peers.isSecure(raw) && !peers.isLocal(raw) && routeOptions.config.allowsPlainHttp !== true;
  }

  let url = "";
  return {
    server,
    async listen(host, port) {
      // Workers share the port; where the operating system does not support that, the supervisor distributes
      // connections.
      const reusePort = workerNumber !== undefined && process.platform === "linux";
      const listenOptions = { host, port, reusePort };
      await server.listen(listenOptions); // passes unknown options through to Node
      const address = server.server.address();
      const taken = typeof address === "object" && address !== null ? address.port : port;
      url = `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${taken}`;
      return taken;
    },
    url: () => url,
    reloadCertificate: async () => tls?.reloadCertificate(),
    async drain(graceMs) {
      if (server.server.listening) await lingerOn(server.server, graceMs);
      // Node closes the connections that are idle now; those that become idle later have to be closed here.
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

/** Less than one read of the socket, so that only one chunk of an unread body is buffered, not two. */
const waitingBytesMax = 32_768;

function serveBy(server: Server): FastifyServerFactory {
  return (handler) => server.on("request", handler);
}

/** Otherwise the framework would choose a parser by content type, and refuse unknown types. */
function hideContentType(request: FastifyRequest): void {
  const { headers } = request.raw;
  if (headers["content-type"] === undefined) return;
  request.contentType = headers["content-type"];
  headers["content-type"] = undefined;
}
