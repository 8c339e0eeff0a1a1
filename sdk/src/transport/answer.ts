import { nameClass } from "../wire/error-classes.ts";
import { ConnectionError, type ErrorDetails, RollcallError, UnexpectedAnswer } from "../wire/errors.ts";

/** The outcome of an attempt of a call. */
export interface Judged {
  readonly status?: number;
  /** Of the answer, if one came. */
  readonly headers?: Headers | undefined;
  readonly requestId?: string | undefined;
  readonly replayed?: boolean;
  /** As on the wire. */
  readonly result?: unknown;
  /** Creates the error of an attempt that failed. */
  readonly fail?: (details: ErrorDetails) => RollcallError;
  /** The number of times that the call may be retried for this reason. */
  readonly repeats?: "yes" | "once" | undefined;
  /** Whether a failed attempt may have been done. */
  readonly mayBeDone?: boolean;
  /** Whether it proves that no earlier attempt with the same key was applied, either. */
  readonly provesUndone?: boolean;
  readonly retryAfterMs?: number | undefined;
  /** Whether the service would also refuse later calls of the principal. */
  readonly closesGate?: boolean;
}

/** The ways in which a call may be repeated: `isRead` has no effect, and `canRepeat` has its effect once. */
export interface Repeatability {
  readonly isRead: boolean;
  readonly canRepeat: boolean;
}

/** The envelope of the service around a result or an error. */
export interface Envelope {
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

/** Statuses that proxies and the service answer temporarily. */
const passing: readonly number[] = [408, 425, 429, 502, 503, 504];
/** Statuses with which the service answers a call only after it has looked up the response under its key. */
const afterKey: readonly number[] = [400, 404, 409, 413, 424];

/** Interprets a response: the envelope, or the body of a response that has none. */
export function judge(
  { isRead, canRepeat }: Repeatability,
  envelope: Envelope | undefined,
  response?: Pick<Response, "status" | "headers">,
  text = "",
): Judged {
  const headers = response?.headers;
  const header = (name: string) => headers?.get(name) ?? "";
  const status = envelope?.status ?? response?.status ?? 0;
  if (envelope?.success) {
    const { request_id: requestId, result } = envelope;
    return { status, headers, requestId, replayed: !isRead && header("idempotent-replayed") === "true", result };
  }
  const retryAfterMs = retryAfter(header("retry-after"), timeOf(headers) || Date.now(), envelope?.retryAfterSeconds);
  const mayRepeat = canRepeat || status === 429;
  // Without an envelope it is the page of a captive portal.
  const isPassing = passing.includes(status) || (!envelope && (status < 400 || status === 511));
  const isLimit = status === 429 && /"(caller|application)"/.test(header("ratelimit"));
  const failure = {
    status,
    headers,
    requestId: envelope?.request_id,
    repeats: isPassing && mayRepeat ? ("yes" as const) : undefined,
    mayBeDone: !isRead && (status < 400 || status === 408 || status >= 500),
    retryAfterMs,
    closesGate: (status === 503 || isLimit) && retryAfterMs !== undefined,
  };
  if (!envelope) {
    const snippet = /^text\/|json|xml/.test(header("content-type")) ? text.slice(0, 200) : undefined;
    const what = `status ${status}, not from the service`;
    return { ...failure, fail: (details) => new UnexpectedAnswer(what, { retryAfterMs, ...details, status, snippet }) };
  }
  const { error = "", errorNumber = 0, request_id: requestId, message, parameter, serviceRoot } = envelope;
  const about = { status, errorNumber, requestId, retryAfterMs, parameter, serviceRoot };
  const request = `request ${requestId}`;
  const isOnce = error === "AuthAccessTokenInvalid" || (status === 500 && mayRepeat);
  return {
    ...failure,
    repeats: isOnce ? "once" : failure.repeats,
    provesUndone: afterKey.includes(status) && error !== "IdempotencyKeyReused",
    fail: (details) => new (nameClass(error))(message ? `${message} (${request})` : request, { ...about, ...details }),
  };
}

/** The meaning of a missing answer. An error of the client itself is not one of the network, and is not retried. */
export function judgeSilence({ isRead, canRepeat }: Repeatability, root: string, cause?: unknown): Judged {
  const own = cause instanceof RollcallError && cause;
  return {
    repeats: canRepeat && !own ? "yes" : undefined,
    mayBeDone: !isRead,
    fail: (details) =>
      own || new ConnectionError(`no answer from ${new URL(root).host}${codeOf(cause)}`, { ...details, cause }),
  };
}

/** The code of a failure as runtimes report it, such as ECONNREFUSED, in brackets. Their messages may contain a query. */
function codeOf(error: unknown): string {
  const { cause, code = Object(cause).code } = Object(error);
  return typeof code === "string" ? ` (${code})` : "";
}

/** The time of the service in milliseconds, where an answer says it, else NaN. */
export function timeOf(headers: Headers | undefined): number {
  return Date.parse(headers?.get("date") ?? "");
}

export function readEnvelope(text: string): Envelope | undefined {
  try {
    const value = JSON.parse(text);
    return "success" in value && "request_id" in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The larger of the header, in seconds or as a date, and the member of the envelope; in milliseconds. */
function retryAfter(header: string, now: number, seconds: number | undefined): number | undefined {
  // Date.parse would take "3600" for a year.
  const byHeader = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  const longest = Math.max(byHeader >= 0 ? byHeader : -1, seconds ?? -1);
  return longest < 0 ? undefined : longest * 1000;
}
