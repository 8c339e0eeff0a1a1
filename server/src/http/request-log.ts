import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { type AnsweredCall, notOperations } from "./request-observer.ts";
import type { AnyCaller } from "./route.ts";

/** What is logged of a call. */
interface LoggedCall extends AnsweredCall {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly address: string;
  /** The id of the request that it came in, for an item of a batch. */
  readonly batch?: string;
}

/** What came of a request, to be counted and logged. */
export function describeRequest(request: FastifyRequest, reply: FastifyReply): AnsweredCall {
  const { operation, caller, failure } = request;
  return {
    operation: operation ?? placeOf(request),
    status: reply.statusCode,
    ms: reply.elapsedTime,
    caller,
    failure,
  };
}

/** Where it went, of a request that was refused before its operation was known, or has none. */
function placeOf(request: FastifyRequest): string {
  const isAnswered = request.failure?.condition !== "OperationNotFound";
  if (request.method === "OPTIONS" && isAnswered) return notOperations.preflight;
  if (request.is404) return notOperations.unknown;
  return request.routeOptions.config.operation ?? notOperations.page;
}

/** Writes the one line that is logged of a request. */
export function logRequest(log: Logger, request: FastifyRequest, answered: AnsweredCall, share: number): void {
  if (!log.isLevelEnabled("info")) return;
  const { operation } = answered;
  const call = {
    ...answered,
    requestId: request.id,
    method: request.method,
    path: request.url,
    operation: operation?.startsWith("(") ? undefined : operation,
    address: request.address,
  };
  logLine(log, call, share);
}

/** What takes longer is logged, whatever the share. */
const slowMs = 1_000;

/**
 * Never a query, a header or a body, which hold secrets.
 *
 * @param share of those lines that tell of nothing special; they say it, so that they can be counted for all
 */
export function logLine(log: Logger, call: LoggedCall, share: number): void {
  const isSpecial = call.status >= 400 || call.ms >= slowMs;
  const sample = isSpecial || share === 1 ? undefined : share;
  if (sample !== undefined && !isInSample(call.batch ?? call.requestId, sample)) return;
  const { requestId, method, path, operation, status, failure, ms, caller, address, batch } = call;
  log.info({
    request_id: requestId,
    batch,
    method,
    path: path === undefined ? undefined : pathOf(path),
    operation,
    status,
    error: failure?.condition,
    ms: Math.round(ms * 1000) / 1000,
    ...(caller !== undefined && describeCaller(caller)),
    address,
    sample,
  });
}

/** Without the query, and without the address of the server, which clients of proxies send as well (RFC 9112 section 3.2.2). */
export function pathOf(url: string): string {
  const query = url.indexOf("?");
  const place = query === -1 ? url : url.slice(0, query);
  return place.startsWith("/") ? place : place.replace(/^https?:\/\/[^/]*/, "");
}

/** Goes by the request, so that all items of a batch are logged, or none. */
function isInSample(requestId: string, share: number): boolean {
  let mixed = 0;
  for (let index = 0; index < requestId.length; index += 1) {
    mixed = Math.imul(mixed ^ requestId.charCodeAt(index), 0x5bd1e995);
    mixed ^= mixed >>> 15;
  }
  return (mixed >>> 0) / 2 ** 32 < share;
}

function describeCaller(caller: AnyCaller): Readonly<Record<string, string | undefined>> {
  if ("operatorId" in caller) return { operator: caller.operatorId };
  return { application: caller.applicationId, device: caller.deviceId, user: caller.userId };
}
