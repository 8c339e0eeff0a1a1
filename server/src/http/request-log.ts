import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { Caller, OperatorCaller } from "./route.ts";

/** Writes the one line that is logged of a request: never a query, a header or a body, which hold secrets. */
export function logRequest(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  if (!log.isLevelEnabled("info")) return;
  const { caller, failure } = request;
  const query = request.url.indexOf("?");
  log.info({
    request_id: request.id,
    method: request.method,
    path: query === -1 ? request.url : request.url.slice(0, query),
    operation: request.routeOptions.config.operation,
    status: reply.statusCode,
    error: failure?.condition,
    ms: Math.round(reply.elapsedTime * 1000) / 1000,
    ...(caller !== undefined && describeCaller(caller)),
    address: request.ip,
  });
}

function describeCaller(caller: Caller | OperatorCaller): Readonly<Record<string, string | undefined>> {
  if ("operatorId" in caller) return { operator: caller.operatorId };
  return { application: caller.applicationId, device: caller.deviceId, user: caller.userId };
}
