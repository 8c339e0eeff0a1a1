import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import { ApiError, errorRow } from "../errors.ts";
import { Abandoned } from "../lib/call-work.ts";
import { fieldsOf } from "../lib/fields.ts";
import type { ArchiveResult, FileResult } from "./file-result.ts";
import { type Quota, RateLimitExceeded } from "./rate-limits.ts";
import { Type } from "./schema.ts";

/** Without a charset: RFC 8259 defines none, and shipped clients compare the text (spec/transport#content-type). */
export const jsonContentType = "application/json";

/** Any web page may call: tokens travel in a header, so there are no cookies to abuse. */
export const anyOrigin = "*";

/** The body of every failure (spec/errors#error-shape). */
export const ErrorEnvelope = Type.Object({
  status: Type.Integer(),
  error: Type.String(),
  errorNumber: Type.Integer(),
  message: Type.Optional(Type.String()),
  serviceRoot: Type.Optional(
    Type.String({ description: "Of the region that the token or its application belongs to." }),
  ),
  request_id: Type.String(),
  success: Type.Literal(false),
});

const processPart = randomBytes(9).toString("base64url");
let requestCount = 0;

/** Creates a request id that is unique across processes and restarts. */
export function newRequestId(): string {
  requestCount += 1;
  return `${processPart}-${requestCount.toString(36)}`;
}

/** The response to a call, without its request id. */
export interface Reply {
  readonly status: number;
  /** The members of the envelope between `status` and `request_id`, as JSON. */
  readonly content: string;
  readonly isSuccess: boolean;
  /** The reason for a refusal, if known. */
  readonly failure?: ApiError;
  /** True for a stored response to an earlier call with the same idempotency key. */
  readonly isReplayed?: true;
  /** The rest of the caller's rate limit, when it is worth reporting. */
  readonly quota?: Quota;
  /** Sent instead of the envelope. */
  readonly file?: FileResult | ArchiveResult;
}

/** @param resultJson the result, as JSON */
export function successReply(status: number, resultJson: string): Reply {
  return { status, content: `"result":${resultJson}`, isSuccess: true };
}

export function errorReply(failure: ApiError): Reply {
  const { status, error, errorNumber } = errorRow(failure.condition);
  const { message, serviceRoot } = failure;
  const content = JSON.stringify({ error, errorNumber, ...(message === "" ? {} : { message }), serviceRoot }).slice(
    1,
    -1,
  );
  const quota = failure instanceof RateLimitExceeded && { quota: failure.quota };
  return { status, content, isSuccess: false, failure, ...quota };
}

/** The whole envelope as JSON. */
export function replyBody({ status, content, isSuccess }: Reply, requestId: string): string {
  return `{"status":${status},${content},"request_id":"${requestId}","success":${isSuccess}}`;
}

export function sendReply(reply: FastifyReply, answer: Reply): void {
  const retryAfterSeconds = answer.failure?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) reply.header("retry-after", retryAfterSeconds);
  if (answer.quota !== undefined) setQuota(reply, answer.quota);
  if (answer.isReplayed) reply.header("idempotent-replayed", "true");
  sendJson(reply, answer.status, replyBody(answer, reply.request.id));
}

/**
 * Sets the headers of draft-ietf-httpapi-ratelimit-headers: the size of a bucket, the rest, and the time until it is
 * full.
 */
export function setQuota(reply: FastifyReply, { name, limit, left, fullInSeconds }: Quota): void {
  const { perSecond, burst } = limit;
  reply.header("ratelimit-policy", `"${name}";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
  reply.header("ratelimit", `"${name}";r=${left};t=${fullInSeconds}`);
}

function sendJson(reply: FastifyReply, status: number, body: string): void {
  // A serializer of our own keeps the framework from adding a charset to JSON.
  // Many envelopes contain tokens, and none has a defined lifetime, so no cache may store them.
  reply
    .code(status)
    .header("content-type", jsonContentType)
    .header("cache-control", "no-store")
    .serializer(asIs)
    .send(body);
}

function asIs(body: unknown): string {
  return body as string; // sendJson passes only texts
}

/** Converts any thrown value into an ApiError: the framework's own errors, ours, and unexpected ones. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Abandoned) return new ApiError("ServiceUnavailable", "The client has gone.", { cause: error });
  const { code, statusCode } = fieldsOf(error); // Fastify's errors have both
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return new ApiError("RequestTooLarge");
  if (code === "FST_ERR_BAD_URL") return new ApiError("ParameterIncorrectFormat", "The path is not valid UTF-8.");
  if (typeof code === "string" && code.startsWith("FST_ERR_") && typeof statusCode === "number" && statusCode < 500) {
    return new ApiError("ParameterIncorrectFormat", undefined, { cause: error });
  }
  return new ApiError("InternalError", undefined, { cause: error });
}
