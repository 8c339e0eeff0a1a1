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
  /** Of the answer. */
  readonly headers?: Headers;
}

export interface Failure {
  readonly isSuccess: false;
  /** How often the call may be repeated for this reason. */
  readonly repeats: "yes" | "once" | "no";
  /** Whether the attempt may have been done. */
  readonly mayBeDone: boolean;
  /** Whether it shows that no earlier attempt with the same key was done, either. */
  readonly provesUndone?: boolean;
  readonly status?: number;
  readonly retryAfterMs?: number | undefined;
  /** Of the answer, if one came. */
  readonly headers?: Headers;
  /** Whether further calls of the principal would be refused, too. */
  readonly closesGate?: boolean;
  create(details: ErrorDetails): RollcallError;
}

/** How a call may be repeated: a read, a write that the service recognizes, or a write that would be done again. */
export type Repeatability = "read" | "keyed" | "plain";

/** What the service writes around a result or an error. */
interface Envelope {
  readonly success: boolean;
  readonly request_id: string;
  readonly status?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly errorNumber?: number;
  readonly message?: string;
  readonly parameter?: string;
  readonly serviceRoot?: string;
  readonly retryAfterSeconds?: number;
}

const snippetLength = 200;
/** Statuses that proxies and the service answer for a while. */
const passing: readonly number[] = [408, 425, 429, 502, 503, 504];
/** Statuses that the service answers to a call only after it has looked for the response under its key. */
const afterKey: readonly number[] = [400, 404, 409, 413, 424];

export function repeatabilityOf(
  { operation: { method, isRepeatable } }: AnyCall,
  key: string | undefined,
): Repeatability {
  if (method === "GET") return "read";
  return key !== undefined || isRepeatable ? "keyed" : "plain";
}

/** What a response means for a call. */
export function judgeAnswer(
  repeatability: Repeatability,
  { headers, status: httpStatus }: Pick<Response, "status" | "headers">,
  text: string,
): Judged {
  const envelope = readEnvelope(text);
  const header = (name: string) => headers.get(name) ?? "";
  const status = envelope?.status ?? httpStatus;
  if (envelope?.success === true) {
    const { request_id: requestId, result } = envelope;
    const replayed = repeatability !== "read" && header("idempotent-replayed") === "true";
    return { isSuccess: true, status, headers, requestId, replayed, result };
  }
  const now = dateOf(headers)?.getTime() ?? Date.now();
  const retryAfterMs = retryAfter(header("retry-after"), envelope?.retryAfterSeconds, now);
  const isForeign = envelope === undefined && (status < 400 || status === 511);
  const mayRepeat = repeatability !== "plain" || status === 429;
  const failure = {
    isSuccess: false,
    status,
    headers,
    repeats: (passing.includes(status) || isForeign) && mayRepeat ? "yes" : "no",
    mayBeDone: repeatability !== "read" && (status < 400 || status === 408 || status >= 500),
    retryAfterMs,
    closesGate: status === 503 || (status === 429 && /"(caller|application)"/.test(header("ratelimit"))),
  } as const;
  if (envelope === undefined) {
    const snippet = /^text\/|json|xml/.test(header("content-type")) ? text.slice(0, snippetLength) : undefined;
    return {
      ...failure,
      create: (details) =>
        new UnexpectedAnswer(`status ${status}, which the service has not written`, {
          retryAfterMs,
          ...details,
          status,
          snippet,
        }),
    };
  }
  const { error = "", errorNumber = 0, request_id: requestId, message, parameter, serviceRoot } = envelope;
  const about = { status, errorNumber, requestId, retryAfterMs, parameter, serviceRoot };
  const isOnce = error === "AuthAccessTokenInvalid" || (status === 500 && mayRepeat);
  return {
    ...failure,
    repeats: isOnce ? "once" : failure.repeats,
    provesUndone: afterKey.includes(status) && error !== "IdempotencyKeyReused",
    create: (details) =>
      new ServiceError(`${message ? `${message} ` : ""}(request ${requestId})`, { ...about, ...details }, error),
  };
}

/** What it means that no answer came. An error of the client itself is none of the network, and is not repeated. */
export function judgeSilence(repeatability: Repeatability, cause: unknown): Failure {
  const isTimeout = cause instanceof TimeoutError;
  const isOwn = cause instanceof RollcallError && !isTimeout;
  return {
    isSuccess: false,
    repeats: isOwn || repeatability === "plain" ? "no" : "yes",
    mayBeDone: repeatability !== "read",
    create(details) {
      if (isOwn) return cause;
      if (isTimeout) return new TimeoutError(cause.message, cause.limit, details);
      return new ConnectionError("no answer came", { ...details, cause });
    },
  };
}

/** The time of the service, where an answer says it. */
export function dateOf(headers: Headers | undefined): Date | undefined {
  const ms = Date.parse(headers?.get("date") ?? "");
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

function readEnvelope(text: string): Envelope | undefined {
  try {
    const value = JSON.parse(text);
    return "success" in value && "request_id" in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The larger of the header, in seconds or as a date, and the member of the envelope; in milliseconds. */
function retryAfter(header: string, seconds: number | undefined, now: number): number | undefined {
  // Date.parse would take "3600" for a year.
  const byHeader = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  const known = [byHeader, seconds ?? Number.NaN].filter((value) => value >= 0);
  return known.length > 0 ? Math.max(...known) * 1000 : undefined;
}
