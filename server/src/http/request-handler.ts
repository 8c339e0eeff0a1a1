import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { type Endpoint, optionsHeaders, readableHeaders } from "../contract/endpoint.ts";
import { type CurrentCall, runInCall } from "../lib/current-call.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { createAddressRule, isLoopback } from "../lib/ip-addresses.ts";
import { operationNotFound } from "../operations/dispatch.ts";
import { errorReply, toApiError } from "../operations/envelope.ts";
import type { RateLimits } from "../operations/rate-limits.ts";
import { HeldBody, readArrivedBody, readBody } from "./body.ts";
import { allowAnyOrigin, answerPreflight, exposedHeaders, isPreflight } from "./cors.ts";
import { Exchange, sendReply } from "./exchange.ts";
import type { InFlight } from "./in-flight.ts";
import type { Peers } from "./peer.ts";
import { describeExchange, logLine, pathOf } from "./request-log.ts";
import { notOperations, type RequestObserver, type RequestTracer } from "./request-observer.ts";
import type { FoundTarget, RouteTable, Target } from "./route-table.ts";
import { createTick } from "./tick.ts";

export interface RequestHandlerOptions {
  readonly config: Pick<
    Config,
    | "operatorAddresses"
    | "publicUrl"
    | "bodyBytesMax"
    | "tls"
    | "requireHttps"
    | "hstsMaxAgeSeconds"
    | "logSample"
    | "slowQueryMs"
  >;
  readonly log: Log;
  readonly routeTable: RouteTable;
  readonly endpoints: readonly Endpoint[];
  readonly peers: Peers;
  readonly observer: RequestObserver;
  /** Runs for each request over plain HTTP from another machine, except for health checks. */
  onPlainHttp(): void;
  /** Undefined when tracing is off. */
  readonly tracer: RequestTracer | undefined;
  /** Runs before the requests of a tick are authenticated (see `createTick`). */
  beginTick(): void;
  readonly inFlight: InFlight;
  readonly rateLimits: Pick<RateLimits, "admitUnknown">;
  /** True while the process is shutting down: new requests are refused. */
  isDraining(): boolean;
}

/** Takes a request through all steps, from its head to its log line. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  const { config, log, routeTable, endpoints, peers, observer, tracer, inFlight } = options;
  const observesCalls = tracer !== undefined || config.slowQueryMs > 0 || config.publicUrl === undefined;
  const callContext = { peers, tracer, publicUrl: config.publicUrl };
  const hsts = config.tls !== undefined || config.requireHttps ? `max-age=${config.hstsMaxAgeSeconds}` : undefined;
  const mayOperate = createAddressRule(config.operatorAddresses);
  const exposed = exposedHeaders(endpoints.flatMap(readableHeaders));
  const { checkTransport, answerOptions, notFound, admitUnknown } = createGate(options, mayOperate);
  const endOfTick = createTick(options.beginTick);

  function begin(exchange: Exchange): void {
    const { request, response } = exchange;
    observer.began(response);
    const onEnd = () => finish(exchange);
    response.on("finish", onEnd);
    response.on("error", onEnd); // emitted when the client disconnects before the response
    exchange.address = peers.addressOf(request);
    allowAnyOrigin(exchange, exposed);
    exchange.setHeader("x-content-type-options", "nosniff");
    if (hsts !== undefined && peers.isSecure(request)) exchange.setHeader("strict-transport-security", hsts);
  }

  /** @throws ApiError */
  async function answer(exchange: Exchange, target: Target | undefined): Promise<void> {
    requireServing(exchange);
    requireUnambiguousFraming(exchange);
    if (target === undefined) {
      admitUnknown(exchange);
      throw notFound(exchange); // without reading the body
    }
    try {
      const accepting = target.accept?.(exchange);
      if (accepting !== undefined) await accepting; // saves a microtask for a caller with a cached token
    } catch (error) {
      if (errorRow(toApiError(error).condition).status < 500) admitUnknown(exchange);
      throw error;
    }
    if (exchange.caller === undefined && target.isUnlimited !== true) admitUnknown(exchange);
    if (takesBody.has(exchange.method) && exchange.hasBody() && isEncoded(exchange.headers)) {
      throw new ApiError("ContentEncodingUnsupported");
    }
    if (takesBody.has(exchange.method) && target.readsBody !== true && exchange.hasBody()) {
      const { request, caller } = exchange;
      const bodyBytesMax =
        caller === undefined ? Math.min(unauthenticatedBytesMax, config.bodyBytesMax) : config.bodyBytesMax;
      exchange.body =
        readArrivedBody(request, bodyBytesMax) ??
        (await readBody(request, bodyBytesMax, () => inFlight.hold(exchange)));
    }
    try {
      await target.answer(exchange);
    } finally {
      if (exchange.body instanceof HeldBody) exchange.body.release();
    }
    if (exchange.isStreaming) {
      observer.streams(exchange.response);
      finish(exchange); // the stream may last for hours
    }
    if (exchange.rehearsed !== undefined && exchange.response.destroyed) finish(exchange); // a rehearsed fault cut the connection
  }

  /** Runs when the response has been sent, or cannot be sent. */
  function finish(exchange: Exchange): void {
    if (exchange.isFinished) return;
    exchange.isFinished = true;
    const answered = describeExchange(exchange);
    observer.answered(answered);
    exchange.trace?.finish(answered);
    logLine(log, answered, config.logSample);
  }

  return (request, response) => {
    const exchange = new Exchange(request, response);
    exchange.isLate = options.isDraining();
    begin(exchange);
    const fail = (error: unknown) => refuse(exchange, error, target, log);
    let target: Target | undefined;
    try {
      target = enterTarget(exchange, routeTable.find(exchange.method, exchange.url), mayOperate);
      // Comes first, and applies to preflights: otherwise the browser would send the token next.
      checkTransport(exchange, target);
      if (answerOptions(exchange)) return;
    } catch (error) {
      fail(error);
      return;
    }
    endOfTick((failure) => {
      if (failure !== undefined) fail(failure);
      else if (observesCalls) runInCall(beginCall(exchange, callContext), () => answer(exchange, target).catch(fail));
      else answer(exchange, target).catch(fail);
    });
  };
}

/** The checks of requests before their caller is authenticated. */
function createGate(
  { config, endpoints, onPlainHttp, peers, rateLimits, routeTable }: RequestHandlerOptions,
  mayOperate: (address: string) => boolean,
) {
  /** @throws ApiError HttpsRequired */
  function checkTransport({ request, address }: Exchange, target: Target | undefined): void {
    if (target?.allowsPlainHttp === true) return;
    if ((!config.requireHttps && isLoopback(address)) || peers.isSecure(request)) return;
    if (config.requireHttps && !peers.isLocal(request)) throw new ApiError("HttpsRequired");
    if (!isLoopback(address)) onPlainHttp();
  }

  /** Answers OPTIONS requests, which have no token. */
  function answerOptions(exchange: Exchange): boolean {
    if (exchange.method !== "OPTIONS") return false;
    const headers = optionsHeaders(endpoints, pathOf(exchange.url));
    if (headers === undefined && !isPreflight(exchange)) return false;
    admitUnknown(exchange);
    exchange.setHeaders(headers ?? {});
    if (exchange.isLate) exchange.setHeader("connection", "close");
    answerPreflight(exchange);
    return true;
  }

  /** Names the verbs of the path that are not hidden from the client. */
  function notFound(exchange: Exchange): ApiError {
    const verbs = routeTable.verbsOf(exchange.url, mayOperate(exchange.address));
    if (verbs.length > 0) exchange.setHeader("allow", verbs.join(", "));
    return operationNotFound(verbs);
  }

  /** @throws RateLimitExceeded */
  function admitUnknown({ address }: Exchange): void {
    if (!isLoopback(address)) rateLimits.admitUnknown(address);
  }

  return { checkTransport, answerOptions, notFound, admitUnknown };
}

/** @throws ApiError ServiceUnavailable */
function requireServing(exchange: Exchange): void {
  if (!exchange.isLate) return;
  exchange.setHeader("connection", "close");
  throw new ApiError("ServiceUnavailable", "The server is shutting down.");
}

/** The limit of a body without a token: parsing a megabyte would delay all other requests by 100 ms. */
const unauthenticatedBytesMax = 65_536;

const takesBody: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

function enterTarget(
  exchange: Exchange,
  found: FoundTarget | undefined,
  mayOperate: (address: string) => boolean,
): Target | undefined {
  if (found === undefined) return undefined;
  if (found.target.isForOperators === true && !mayOperate(exchange.address)) return undefined;
  exchange.route = found.target.name ?? notOperations.page;
  exchange.path = found.path;
  exchange.query = found.query;
  return found.target;
}

/** Begins the context of a request, to which slow work is attributed. */
function beginCall(
  exchange: Exchange,
  { peers, tracer, publicUrl }: Pick<RequestHandlerOptions, "peers" | "tracer"> & Pick<Config, "publicUrl">,
): CurrentCall {
  const { id: requestId, method, request, response, headers } = exchange;
  const isSecure = peers.isSecure(request);
  const trace = tracer?.begin({ requestId, method, path: pathOf(exchange.url), isSecure, headers });
  if (trace !== undefined) response.once("close", () => trace.finish(undefined));
  exchange.trace = trace;
  const root = publicUrl === undefined ? () => peers.rootOf(request) : undefined;
  exchange.call = { requestId, trace, root };
  return exchange.call;
}

/** @throws ApiError ParameterIncorrectFormat */
function requireUnambiguousFraming(exchange: Exchange): void {
  const fault = framingFault(exchange.request);
  if (fault === undefined) return;
  exchange.setHeader("connection", "close"); // a proxy may take the following bytes for another request
  throw new ApiError("ParameterIncorrectFormat", fault);
}

function refuse(exchange: Exchange, error: unknown, target: Target | undefined, log: Log): void {
  const { response } = exchange;
  const failure = toApiError(error);
  if (failure.condition === "InternalError") {
    log.error({ request_id: exchange.id, err: failure.cause ?? failure }, "request failed");
  }
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy(); // the client must not take the response for complete
    return;
  }
  exchange.failure = failure;
  if (failure.serviceRoot !== undefined) exchange.address = ""; // the client belongs to another region, so its address must not be logged here
  try {
    if (target?.refuse?.(exchange, failure) === true) return;
    sendReply(exchange, errorReply(failure));
  } catch (err) {
    log.error({ request_id: exchange.id, err }, "the refusal could not be sent");
    response.destroy();
  }
}

/**
 * Detects requests that Node.js parses but a proxy may interpret differently: the proxy could find another length or
 * another host (RFC 9112, sections 3.2 and 6.1).
 *
 * @returns undefined for an unambiguous request
 */
function framingFault({ headers, httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (headers.host === undefined && httpVersion === "1.1") return "The Host header is missing.";
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) {
    return "HTTP/1.0 has no Transfer-Encoding.";
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1 ? "The Host header must be sent once." : undefined;
}

/** Whether a body is compressed. */
function isEncoded({ "content-encoding": encoding = "" }: IncomingHttpHeaders): boolean {
  return encoding.split(",").some((each) => !["", "identity"].includes(each.trim().toLowerCase()));
}
