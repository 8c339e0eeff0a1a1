import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { ApiError } from "../errors.ts";
import type { AnyCaller } from "./route.ts";

/** What is logged of a call. */
interface LoggedCall {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly operation: string | undefined;
  readonly status: number;
  readonly failure: ApiError | undefined;
  readonly ms: number;
  readonly caller?: AnyCaller | undefined;
  readonly address: string;
  /** The id of the request that it came in, for an item of a batch. */
  readonly batch?: string;
}

/** Writes the one line that is logged of a request. */
export function logRequest(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  if (!log.isLevelEnabled("info")) return;
  const { caller, failure } = request;
  logLine(log, {
    requestId: request.id,
    method: request.method,
    path: request.url,
    operation: request.routeOptions.config.operation,
    status: reply.statusCode,
    failure,
    ms: reply.elapsedTime,
    caller,
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
