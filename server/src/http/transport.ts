import type { IncomingMessage } from "node:http";
import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import { readBody } from "./body.ts";
import { answerBrokenRequest } from "./broken-request.ts";
import { anyOrigin, errorReply, newRequestId, sendReply, toApiError } from "./envelope.ts";
import { mountOperation } from "./mount.ts";
import type { Authenticate, Operation } from "./operations.ts";
import { logRequest } from "./request-log.ts";
import type { AnyCaller } from "./route.ts";
import { createTurn } from "./turn.ts";
import { isUploading } from "./upload.ts";
import { mountPage, type Page } from "./web-page.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: AnyCaller | undefined;
    /** The label of the body, hidden from the framework (see `hideContentType`). */
    contentType: string | undefined;
    /** What was refused and why, for the log. */
    failure: ApiError | undefined;
  }
}

export interface TransportOptions {
  readonly config: Pick<
    Config,
    "bodyBytesMax" | "fileBytesMax" | "headerBytesMax" | "requestTimeoutMs" | "keepAliveTimeoutMs" | "authSchemes"
  >;
  readonly log: Logger;
  readonly operations: readonly Operation[];
  readonly pages: readonly Page[];
  /** Runs before the requests of a turn of the event loop are authenticated (see `createTurn`). */
  beginTurn(): void;
  readonly authenticate: Authenticate;
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
  /** Stops accepting, lets requests in flight finish, and cuts what is left after `graceMs`. */
  drain(graceMs: number): Promise<void>;
}

/**
 * The HTTP server with all its settings (surface.md section 1): every answer in the envelope, whoever refuses; bodies
 * read by their content, not their label; one log line per request, never with a query, a header or a body in it.
 */
export async function createTransport(options: TransportOptions): Promise<Transport> {
  const { config, log } = options;
  const server = Fastify({
    logger: false, // one line per request is written below, for a tenth of the cost
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: config.bodyBytesMax,
    requestTimeout: config.requestTimeoutMs,
    keepAliveTimeout: config.keepAliveTimeoutMs,
    http: {
      maxHeaderSize: config.headerBytesMax,
      headersTimeout: config.requestTimeoutMs, // Node enforces neither time-out when this one is the longer
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false, // refused in the envelope below
    },
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
      reply.header("access-control-allow-origin", anyOrigin);
      answerError(error, request, reply);
      logRequest(log, request, reply);
    },
    clientErrorHandler: (error, socket) => {
      // An upload may take as long as it goes on: `receiveUpload` ends those that do not.
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isUploading(socket)) return;
      answerBrokenRequest(error, socket, log);
    },
  });

  server.decorateRequest("caller", undefined);
  server.decorateRequest("contentType", undefined);
  server.decorateRequest("failure", undefined);

  function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const failure = toApiError(error);
    request.failure = failure;
    if (failure.condition === "InternalError") {
      log.error({ request_id: request.id, err: failure.cause ?? failure }, "request failed");
    }
    sendReply(reply, errorReply(failure));
  }

  // Node would answer these two without a body.
  server.server.on("checkExpectation", ({ socket }: IncomingMessage) =>
    answerBrokenRequest({ code: "EXPECTATION" }, socket, log),
  );
  server.server.on("connect", ({ socket }: IncomingMessage) => answerBrokenRequest({ code: "CONNECT" }, socket, log));
  server.setErrorHandler(answerError);
  server.setNotFoundHandler((request, reply) => answerError(new ApiError("OperationNotFound"), request, reply));

  await server.register(cors, {
    origin: anyOrigin,
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    exposedHeaders: [
      ...["Retry-After", "RateLimit", "RateLimit-Policy", "Idempotent-Replayed"],
      ...["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
    ],
    maxAge: 86_400,
    strictPreflight: false,
  });

  const endOfTurn = createTurn(options.beginTurn);
  server.addHook("onRequest", (_request, _reply, done) => endOfTurn(done));
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
    logRequest(log, request, reply);
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
  for (const page of options.pages) mountPage(server, page);

  let url = "";
  return {
    server,
    async listen(host, port) {
      await server.listen({ host, port });
      const address = server.server.address();
      const taken = typeof address === "object" && address !== null ? address.port : port;
      url = `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
      return taken;
    },
    url: () => url,
    async drain(graceMs) {
      // The server closes the connections that are idle now; those that become idle later are for us to close.
      const sweep = setInterval(() => server.server.closeIdleConnections(), 20);
      const cut = setTimeout(() => server.server.closeAllConnections(), graceMs);
      await server.close();
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
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
