import { randomBytes } from "node:crypto";
import type { ArchiveResult, FileResult } from "../contract/file-result.ts";
import { named, Type } from "../contract/schema.ts";
import type { StreamResult } from "../contract/stream-result.ts";
import { Abandoned } from "../lib/call-work.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import { type Quota, RateLimitExceeded } from "./rate-limits.ts";

/** Without a charset: RFC 8259 defines none, and shipped clients compare the value (spec/transport#content-type). */
export const jsonContentType = "application/json";

/**
 * Calls from any web page are safe, because tokens are in a header, and cookies of operators are accepted only from
 * pages of this server.
 */
export const anyOrigin = "*";

/** Longer than any documented name; names inside a parameter are data of the client. */
const parameterCharactersMax = 300;

/** The machine-readable details of a failure (spec/errors#error-details). */
export const failureDetails = {
  parameter: Type.Optional(
    Type.String({ maxLength: parameterCharactersMax, description: "The invalid parameter, if there is exactly one." }),
  ),
  retryAfterSeconds: Type.Optional(
    Type.Integer({ minimum: 0, description: "With 429 and 503: the time to wait before the next attempt." }),
  ),
};

const Problem = named(
  "Problem",
  "The problem of a setting.",
  Type.Object({
    path: Type.Optional(Type.String({ description: "The setting, such as mail.from." })),
    message: Type.String({ description: "Explains it to people." }),
  }),
);

/** The body of every failure (spec/errors#error-shape). */
export const ErrorEnvelope = named(
  "ApiError",
  "The answer to a failed call.",
  Type.Object({
    status: Type.Integer(),
    error: Type.String({ description: "The name of the error." }),
    errorNumber: Type.Integer({ description: "The number of the error." }),
    message: Type.Optional(Type.String({ description: "Explains the error to people." })),
    ...failureDetails,
    serviceRoot: Type.Optional(
      Type.String({ description: "Of the region that the token or its application belongs to." }),
    ),
    methods: Type.Optional(
      Type.Unsafe<string[]>({
        ...Type.Array(Type.String()),
        description: "With AuthReauthenticationRequired: how the caller can prove itself.",
      }),
    ),
    current: Type.Optional({
      ...Type.Record(Type.Unsafe<unknown>({})),
      description: "With ObjectChanged: the stored version.",
    }),
    problems: Type.Optional({
      ...Type.Array(Problem),
      maxItems: 50,
      description: "With refused settings: each of them.",
    }),
    /** Present if the application has `debug` (spec/transport#unknown-parameters). */
    ignored: Type.Optional(Type.Array(Type.String())),
    request_id: Type.String({ description: "Finds the call in the log of the server." }),
    success: Type.Literal(false),
  }),
);

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
  /** The reason for a refusal. */
  readonly failure?: ApiError;
  /** True for a stored response to an earlier call with the same idempotency key. */
  readonly isReplayed?: true;
  /** The remaining quota of the caller, if less than half is left. */
  readonly quota?: Quota;
  /** The names of ignored parameters, for the developers of an app (spec/transport#unknown-parameters). */
  readonly ignored?: readonly string[];
  /** Set if the client rehearses this response (spec/rehearsal). */
  readonly rehearsed?: Rehearsed;
  /** The rehearsed reply to send in place of this one, which has the real outcome. */
  readonly instead?: Reply;
  /** Sent instead of the envelope. */
  readonly file?: FileResult | ArchiveResult;
  /** Sent instead of the envelope, until the client disconnects. */
  readonly stream?: StreamResult;
}

/** The rehearsed failure, and how the transport must alter the response. */
export interface Rehearsed {
  readonly what: string;
  readonly fault?: "cut" | "truncated" | "html";
}

/** Returns the reply to send to the client. */
export function shownReply(reply: Reply): Reply {
  const { instead, quota } = reply;
  if (instead === undefined) return reply;
  return quota === undefined ? instead : { ...instead, quota };
}

/** @param resultJson the result, as JSON */
export function successReply(status: number, resultJson: string): Reply {
  return { status, content: `"result":${resultJson}`, isSuccess: true };
}

export function errorReply(failure: ApiError): Reply {
  const { status, error, errorNumber } = errorRow(failure.condition);
  const { message, serviceRoot, retryAfterSeconds, methods, current, problems } = failure;
  const parameter = failure.parameter?.slice(0, parameterCharactersMax).toWellFormed();
  const content = JSON.stringify({
    error,
    errorNumber,
    ...(message === "" ? {} : { message }),
    parameter,
    retryAfterSeconds,
    serviceRoot,
    methods,
    current,
    problems,
  }).slice(1, -1);
  const quota = failure instanceof RateLimitExceeded && { quota: failure.quota };
  return { status, content, isSuccess: false, failure, ...quota };
}

/** Returns the complete envelope as JSON. */
export function replyBody({ status, content, isSuccess, ignored = [] }: Reply, requestId: string): string {
  const names = ignored.length === 0 ? "" : `,"ignored":${JSON.stringify(ignored)}`;
  return `{"status":${status},${content}${names},"request_id":"${requestId}","success":${isSuccess}}`;
}

/** Converts any thrown value into an ApiError. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Abandoned)
    return new ApiError("ServiceUnavailable", "The client has disconnected.", { cause: error });
  return new ApiError("InternalError", undefined, { cause: error });
}
