import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import { ApiError, errorRow } from "../errors.ts";
import { Type } from "./schema.ts";

/** Exactly this, without a charset: RFC 8259 defines none, and shipped clients compare the text (surface.md section 1). */
export const jsonContentType = "application/json";

/** Any web page may call: tokens travel in a header, there are no cookies to ride on. */
export const anyOrigin = "*";

/** The body of every failure (service.md "Errors"). */
export const ErrorEnvelope = Type.Object({
  status: Type.Integer(),
  error: Type.String(),
  errorNumber: Type.Integer(),
  message: Type.Optional(Type.String()),
  request_id: Type.String(),
  success: Type.Literal(false),
});

const processPart = randomBytes(9).toString("base64url");
let requestCount = 0;

/** A new request id: unique per request, also across processes and restarts. */
export function newRequestId(): string {
  requestCount += 1;
  return `${processPart}-${requestCount.toString(36)}`;
}

/** Answers with a success envelope around a result that is JSON already. */
export function sendResult(reply: FastifyReply, status: number, resultJson: string): void {
  const body = `{"status":${status},"result":${resultJson},"request_id":"${reply.request.id}","success":true}`;
  sendJson(reply, status, body);
}

/** Answers with the envelope of a failure. */
export function sendError(reply: FastifyReply, error: ApiError): void {
  if (error.retryAfterSeconds !== undefined) reply.header("retry-after", error.retryAfterSeconds);
  sendJson(reply, errorRow(error.condition).status, errorBody(error, reply.request.id));
}

/** The JSON of a failure, also for answers that never reach the framework. */
export function errorBody(error: ApiError, requestId: string): string {
  const row = errorRow(error.condition);
  return JSON.stringify({
    status: row.status,
    error: row.error,
    errorNumber: row.errorNumber,
    ...(error.message === "" ? {} : { message: error.message }),
    request_id: requestId,
    success: false,
  });
}

function sendJson(reply: FastifyReply, status: number, body: string): void {
  // The framework adds a charset to JSON that it serialises; with a serialiser of our own it leaves the type alone.
  reply.code(status).header("content-type", jsonContentType).serializer(asIs).send(body);
}

function asIs(body: unknown): string {
  return body as string; // sendJson passes nothing else
}

/** Turns whatever was thrown into a refusal of the catalogue: the framework's own errors, ours, and the unexpected. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }; // Fastify's errors have both
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new ApiError("RequestTooLarge");
  if (code === "FST_ERR_BAD_URL") return new ApiError("ParameterIncorrectFormat", "The path is not valid UTF-8.");
  if (typeof code === "string" && code.startsWith("FST_ERR_") && typeof statusCode === "number" && statusCode < 500) {
    return new ApiError("ParameterIncorrectFormat", undefined, { cause: error });
  }
  return new ApiError("InternalError", undefined, { cause: error });
}
