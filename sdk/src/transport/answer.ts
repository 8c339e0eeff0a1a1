import type { AnyCall } from "../wire/call.ts";
import {
  ConnectionError,
  type ErrorDetails,
  RollcallError,
  ServiceError,
  TimeoutError,
  UnexpectedAnswer,
} from "../wire/errors.ts";

/** A success, or why an attempt failed. */
export type Judged = Success | Failure;

export interface Success {
  readonly isSuccess: true;
  readonly status: number;
  readonly requestId: string;
  readonly replayed: boolean;
  /** As on the wire. */
  readonly result: unknown;
  readonly date?: Date | undefined;
}

export interface Failure {
  readonly isSuccess: false;
  /** How often the call may be repeated for this reason. */
  readonly repeats: "yes" | "once" | "no";
  /** Whether the attempt may have been done. */
  readonly mayBeDone: boolean;
  /** Whether it shows that no earlier attempt with the same key was done, either. */
  readonly provesUndone?: boolean;
  /** The error of the service. */
  readonly error?: string;
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
  /** The time of the service. */
  readonly date?: Date | undefined;
  /** Whether further calls of the principal would be refused, too. */
  readonly closesGate?: boolean;
  create(details: ErrorDetails): RollcallError;
}

/** How a call may be repeated: a read, a write that the service recognizes, or a write that would be done again. */
export type Repeatability = "read" | "keyed" | "plain";

const snippetLength = 200;
/** Statuses that proxies and the service answer for a while. */
const passing: readonly number[] = [408, 425, 429, 502, 503, 504];
/** Statuses that the service answers to a call only after it has looked for the response under its key. */
const afterKey: readonly number[] = [400, 404, 409, 413, 424];

/** What a response means for a call. */
export function judgeAnswer(
  call: AnyCall,
  repeatability: Repeatability,
  response: Pick<Response, "status" | "headers">,
  text: string,
): Judged {
  const envelope = readEnvelope(text);
  const { headers } = response;
  const date = readDate(headers);
  if (envelope?.["success"] === true) {
    return {
      isSuccess: true,
      status: numberOf(envelope["status"], response.status),
      requestId: `${envelope["request_id"]}`,
      replayed: headers.get("idempotent-replayed") === "true",
      result: envelope["result"],
      date,
    };
  }
  const status = numberOf(envelope?.["status"], response.status);
  const retryAfterMs = readRetryAfter(headers, envelope);
  const isForeign = envelope === undefined && (status < 400 || status === 511);
  const mayRepeat = repeatability !== "plain" || status === 429;
  const failure = {
    isSuccess: false,
    repeats: (passing.includes(status) || isForeign) && mayRepeat ? "yes" : "no",
    mayBeDone: repeatability !== "read" && (status < 400 || status === 408 || status >= 500),
    status,
    date,
    retryAfterMs,
    closesGate: status === 503 || (status === 429 && /"(caller|application)"/.test(headers.get("ratelimit") ?? "")),
  } as const;
  if (envelope === undefined) {
    const message = `${call.operation.id}: UnexpectedAnswer: status ${status}, which the service has not written`;
    const isText = /^text\/|json|xml/.test(headers.get("content-type") ?? "");
    const snippet = isText ? text.slice(0, snippetLength) : undefined;
    return {
      ...failure,
      create: (details) => new UnexpectedAnswer(message, { retryAfterMs, ...details, status, snippet }),
    };
  }
  const error = `${envelope["error"]}`;
  const requestId = `${envelope["request_id"]}`;
  const explanation = textOf(envelope["message"]);
  const message = `${call.operation.id}: ${error}${explanation ? `: ${explanation}` : ""} (request ${requestId})`;
  const about = {
    status,
    errorNumber: numberOf(envelope["errorNumber"], 0),
    requestId,
    retryAfterMs,
    parameter: textOf(envelope["parameter"]),
    serviceRoot: textOf(envelope["serviceRoot"]),
  };
  const isOnce = error === "AuthAccessTokenInvalid" || (status === 500 && mayRepeat);
  return {
    ...failure,
    repeats: isOnce ? "once" : failure.repeats,
    provesUndone: afterKey.includes(status) && error !== "IdempotencyKeyReused",
    error,
    create: (details) => new ServiceError(message, { ...about, ...details }, error),
  };
}

/** What it means that no answer came. An error of the client itself is none of the network, and is not repeated. */
export function judgeSilence(call: AnyCall, repeatability: Repeatability, cause: unknown): Failure {
  const isTimeout = cause instanceof TimeoutError;
  if (cause instanceof RollcallError && !isTimeout) {
    return { isSuccess: false, repeats: "no", mayBeDone: repeatability !== "read", create: () => cause };
  }
  return {
    isSuccess: false,
    repeats: repeatability === "plain" ? "no" : "yes",
    mayBeDone: repeatability !== "read",
    create(details) {
      if (isTimeout) return new TimeoutError(cause.message, cause.limit, details);
      return new ConnectionError(`${call.operation.id}: ConnectionError: no answer came`, { ...details, cause });
    },
  };
}

function readEnvelope(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isEnvelope = typeof value === "object" && value !== null && "success" in value && "request_id" in value;
    return isEnvelope ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function readDate(headers: Headers): Date | undefined {
  const ms = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

/** The larger of the header, in seconds or as a date, and the member of the envelope. */
function readRetryAfter(headers: Headers, envelope: Readonly<Record<string, unknown>> | undefined): number | undefined {
  const header = headers.get("retry-after")?.trim() ?? "";
  const now = readDate(headers)?.getTime() ?? Date.now();
  // Date.parse would take "3600" for a year.
  const byHeader = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  const byEnvelope = numberOf(envelope?.["retryAfterSeconds"], Number.NaN);
  const known = [byHeader, byEnvelope].filter((seconds) => seconds >= 0);
  return known.length > 0 ? Math.max(...known) * 1000 : undefined;
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
