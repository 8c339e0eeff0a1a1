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
  if (request.method === "OPTIONS") return notOperations.preflight;
  if (request.is404) return notOperations.unknown;
  return request.routeOptions.config.operation ?? notOperations.page;
}

/** Writes the one line that is logged of a request. */
export function logRequest(log: Logger, request: FastifyRequest, answered: AnsweredCall): void {
  if (!log.isLevelEnabled("info")) return;
  const { operation } = answered;
  logLine(log, {
    ...answered,
    requestId: request.id,
    method: request.method,
    path: request.url,
    operation: operation?.startsWith("(") ? undefined : operation,
    address: request.address,
  });
}

/** Never a query, a header or a body, which hold secrets. */
export function logLine(log: Logger, call: LoggedCall): void {
  const { requestId, method, path, operation, status, failure, ms, caller, address, batch } = call;
  const query = path?.indexOf("?") ?? -1;
  log.info({
    request_id: requestId,
    batch,
    method,
    path: query === -1 ? path : path?.slice(0, query),
    operation,
    status,
    error: failure?.condition,
    ms: Math.round(ms * 1000) / 1000,
    ...(caller !== undefined && describeCaller(caller)),
    address,
  });
}

function describeCaller(caller: AnyCaller): Readonly<Record<string, string | undefined>> {
  if ("operatorId" in caller) return { operator: caller.operatorId };
  return { application: caller.applicationId, device: caller.deviceId, user: caller.userId };
}
