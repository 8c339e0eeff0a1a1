import type { Log } from "../config/log.ts";
import type { AnyCaller } from "../contract/route.ts";
import { ApiError, type TokenHolder } from "../lib/errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { Exchange } from "./exchange.ts";
import { type AnsweredCall, notOperations } from "./request-observer.ts";

/** Describes the outcome of a request, for metrics and the log. */
export function describeExchange(exchange: Exchange): AnsweredCall {
  const { id, method, url, address, operation, caller, applicationId, failure } = exchange;
  return {
    requestId: id,
    at: Date.now(),
    method,
    path: copySubstring(pathOf(url), url),
    address,
    operation: operation ?? routeOf(exchange),
    status: exchange.response.statusCode,
    ms: exchange.elapsedMs(),
    caller,
    applicationId,
    failure,
    refused: failure?.refused,
    isSigned: exchange.isSigned,
    origin: exchange.headers.origin,
    rehearsed: exchange.rehearsed,
  };
}

/** Names a request that has no operation, or was refused before its operation was determined. */
function routeOf({ failure, method, route }: Exchange): string {
  const isAnswered = failure?.condition !== "OperationNotFound";
  if (method === "OPTIONS" && isAnswered) return notOperations.preflight;
  return route ?? notOperations.unknown;
}

/** Slower requests are logged regardless of the sample. */
const slowMs = 1_000;

/**
 * Writes the log line of a call. It never contains a query, a header or a body, because they hold secrets.
 *
 * @param share the share of fast, successful requests to log. Their lines contain it, so that totals can be estimated
 */
export function logLine(log: Log, call: AnsweredCall, share: number): void {
  if (!log.isLevelEnabled("info")) return;
  const isSpecial = call.status >= 400 || call.ms >= slowMs;
  const sample = isSpecial || share === 1 ? undefined : share;
  if (sample !== undefined && !isInSample(call.batch ?? call.requestId, sample)) return;
  const { requestId, method, path, operation, status, failure, rehearsed, ms, address, batch } = call;
  const caller = call.caller ?? call.refused;
  const cause = failure?.condition === "ServiceUnavailable" ? describeCause(failure.cause) : undefined;
  log.writeMembers(
    `"request_id":${JSON.stringify(requestId)}${member("batch", batch)}${member("method", method)}` +
      `${member("path", path)}${member("operation", operation?.startsWith("(") ? undefined : operation)}` +
      `,"status":${status}${member("error", failure?.condition)}${member("cause", cause)}${member("rehearsed", rehearsed)}` +
      `,"ms":${Math.round(ms * 1000) / 1000}${caller === undefined ? "" : callerMembers(caller)}` +
      `${member("address", address)}${sample === undefined ? "" : `,"sample":${sample}`}`,
  );
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? "" : `,"${name}":${JSON.stringify(value)}`;
}

/** Returns the path without its query, and without the host of an absolute-form target (RFC 9112 section 3.2.2). */
export function pathOf(url: string): string {
  const query = url.indexOf("?");
  const path = query === -1 ? url : url.slice(0, query);
  return path.startsWith("/") ? path : path.replace(/^https?:\/\/[^/]*/, "");
}

/** Copies a substring, so that V8 can free the string that it was cut from. */
function copySubstring(part: string, whole: string): string {
  return part.length === whole.length ? part : Buffer.from(part).toString();
}

/** Describes why a dependency failed, such as a time-out of the database. Never contains values of a request. */
function describeCause(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause instanceof ApiError && cause.cause !== undefined) return describeCause(cause.cause);
  const { code } = fieldsOf(cause); // set by database drivers and Node.js
  return typeof code === "string" ? `${code}: ${cause.message}` : cause.message;
}

/** Decides by the request id, so that all items of a batch are logged, or none of them. */
function isInSample(requestId: string, share: number): boolean {
  let mixed = 0;
  for (let index = 0; index < requestId.length; index += 1) {
    mixed = Math.imul(mixed ^ requestId.charCodeAt(index), 0x5bd1e995);
    mixed ^= mixed >>> 15;
  }
  return (mixed >>> 0) / 2 ** 32 < share;
}

function callerMembers(caller: AnyCaller | TokenHolder): string {
  if ("operatorId" in caller) return member("operator", caller.operatorId);
  const { applicationId, deviceId, userId } = caller;
  return member("application", applicationId) + member("device", deviceId) + member("user", userId);
}
