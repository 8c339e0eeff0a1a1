import type { Clock } from "../lib/clock.ts";
import { newUuid } from "../lib/uuid.ts";
import { sleep, unlessAborted } from "../lib/wait.ts";
import type { AnyCall } from "../wire/call.ts";
import { ConfigurationError, describeCall, type ErrorDetails, ServiceError } from "../wire/errors.ts";
import type { Failure, Judged, Repeatability, Success } from "./answer.ts";
import { type Attempts, attemptOnce } from "./attempt.ts";
import { decodeResult } from "./decode.ts";
import type { Gate } from "./gate.ts";
import { type InterceptedRequest, type Interceptor, ownHeaders, runIntercepted } from "./interceptors.ts";
import type { Logger } from "./logger.ts";
import type { CallOptions, Meta, Signer, TransportOptions } from "./options.ts";
import type { Credentials, Principal } from "./principal.ts";
import { type Budget, createRepeats } from "./repeats.ts";
import { buildRequest, type WireRequest } from "./request.ts";
import { createStop } from "./stop.ts";

/** What the calls of a client share. */
export interface Shared {
  readonly options: TransportOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  readonly interceptors: ReadonlySet<Interceptor>;
  readonly budget: Budget;
  gateOf(principal: Principal): Gate<Failure>;
  signer?: Signer;
}

export interface Answer {
  readonly result: unknown;
  readonly meta: Meta;
}

const attemptMsDefault = 30_000;
export const totalMsDefault = 90_000;
const stallMsDefault = 60_000;
/** How fast an upload has to be where its progress cannot be seen, in bytes per millisecond. */
const uploadSpeedMin = 16_384 / 1000;
/** The repeat of such a call finds its token dead if the first attempt was done. */
const endsToken: ReadonlySet<string> = new Set(["logoutUser", "deleteUser", "endToken"]);

/** Sends a call until it is answered, its time is up, or a repeat cannot help. */
export async function runCall(
  call: AnyCall,
  principal: Principal,
  options: CallOptions,
  shared: Shared,
): Promise<Answer> {
  const { operation } = call;
  const { clock, logger } = shared;
  const {
    attemptMs = attemptMsDefault,
    totalMs = totalMsDefault,
    stallMs = stallMsDefault,
  } = shared.options.timeouts ?? {};
  const startedAt = clock.now();
  const isRead = operation.method === "GET";
  const isTransfer = operation.isDownload || operation.hasFile;
  const timeoutMs = options.timeoutMs ?? (isTransfer ? Number.POSITIVE_INFINITY : totalMs);
  const key = isRead || !operation.isIdempotent ? undefined : (options.idempotencyKey ?? newUuid());
  const repeatability: Repeatability = isRead ? "read" : key || operation.isRepeatable ? "keyed" : "plain";
  const repeats = createRepeats(options.retry ?? shared.options.retry, shared.budget, clock);
  const stop = createStop(timeoutMs, options.signal, shared.closing, clock);
  let attempts = 0;
  /** Whether an attempt of a write may have been done. */
  let isUncertain = false;
  let success: Success | undefined;

  const detailsOf = (isRetryable: boolean): ErrorDetails => ({
    call: describeCall(call),
    attempts,
    idempotencyKey: key,
    outcome: isUncertain ? "unknown" : "none",
    isRetryable,
  });

  try {
    refuseOwnHeaders(options);
    const request = buildRequest(call, key, shared.options.methods === "get-post");
    const perAttempt: Attempts = {
      call,
      request,
      repeatability,
      interceptors: [...shared.interceptors],
      attemptMs: operation.hasFile ? stallMs + (request.length ?? 0) / uploadSpeedMin : attemptMs,
      stop: stop.signal,
      fetch: shared.options.fetch,
      clock,
      options,
      closing: shared.closing,
      stallMs,
    };
    const seen: InterceptedRequest = {
      operation,
      method: request.method,
      path: call.path,
      headers: new Headers(options.headers),
      context: options.context,
    };
    const running = runIntercepted(
      perAttempt.interceptors.map(({ call }) => call),
      seen,
      () => runAttempts(perAttempt, seen),
    );
    const result = await unlessAborted(running, stop.signal);
    const { status = 200, requestId = "", replayed = false } = success ?? {};
    return { result, meta: { status, requestId, replayed, attempts, durationMs: clock.now() - startedAt } };
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
    throw stop.create(operation.id, detailsOf(repeatability !== "plain"));
  } finally {
    stop.dispose();
  }

  function refuseOwnHeaders({ headers = {} }: CallOptions): void {
    const refused = Object.keys(headers).find((name) => ownHeaders.includes(name.toLowerCase()));
    if (refused === undefined) return;
    const message = `${operation.id}: ConfigurationError: the client sets the header ${refused} by itself`;
    throw new ConfigurationError(message, detailsOf(false));
  }

  async function runAttempts(perAttempt: Attempts, seen: InterceptedRequest): Promise<unknown> {
    let credentials = await principal.credentials(stop.signal);
    let isReplaced = false;
    for (;;) {
      const wasUncertain = isUncertain;
      const judged = await runAttempt(perAttempt, credentials, seen);
      if (judged.isSuccess) {
        success = judged;
        return operation.isDownload ? judged.result : decodeResult(judged.result);
      }
      const error = judged.create(detailsOf(judged.repeats !== "no"));
      if (error.is("AuthAccessTokenInvalid") && error instanceof ServiceError && credentials.token !== "") {
        if (wasUncertain && endsToken.has(operation.id)) {
          principal.answered?.(credentials, { call });
          return undefined;
        }
        if (isReplaced) throw error;
        isReplaced = true;
        credentials = await principal.replace(credentials, error, call, stop.signal);
        continue;
      }
      const waitMs = repeats.next(judged, startedAt + timeoutMs - clock.now());
      if (waitMs === undefined) throw error;
      logger.info("repeating a call", { operation: operation.id, attempt: attempts, reason: error.name, waitMs });
      await sleep(waitMs, stop.signal, clock);
    }
  }

  async function runAttempt(perAttempt: Attempts, credentials: Credentials, seen: InterceptedRequest): Promise<Judged> {
    const leave = await shared.gateOf(principal).enter(startedAt + timeoutMs, stop.signal);
    if (typeof leave !== "function") {
      const { reason, retryAfterMs } = leave;
      throw reason.create({ ...detailsOf(reason.repeats !== "no"), retryAfterMs });
    }
    let judged: Judged | undefined;
    const wasUncertain = isUncertain;
    try {
      const authorization = await authorize(credentials, perAttempt.request);
      stop.signal.throwIfAborted();
      attempts += 1;
      isUncertain ||= !isRead;
      const headers = new Headers(seen.headers);
      if (authorization !== undefined) headers.set("Authorization", "[secret]");
      judged = await attemptOnce(perAttempt, credentials, authorization, { ...seen, headers, attempt: attempts });
    } finally {
      leave(closingOf(judged) ?? (judged?.status === undefined ? "silent" : "answered"));
    }
    if (judged.isSuccess) {
      isUncertain = false;
      shared.budget.refill();
    } else isUncertain = judged.mayBeDone || (wasUncertain && !judged.provesUndone);
    report(credentials, judged);
    return judged;
  }

  async function authorize({ token }: Credentials, { method, path }: WireRequest): Promise<string | undefined> {
    if (token === "") return undefined;
    const { scheme = "Service" } = shared.options;
    const signature = await shared.signer?.(method, path);
    return signature === undefined ? `${scheme} ${token}` : `${scheme} ${token} ${signature}`;
  }

  function report(credentials: Credentials, judged: Judged): void {
    const { status } = judged;
    const error = judged.isSuccess ? undefined : judged.create(detailsOf(false));
    logger.debug("attempt of a call", { operation: operation.id, attempt: attempts, status, error: error?.name });
    // What a proxy answers says nothing about the principal.
    if (!judged.isSuccess && !(error instanceof ServiceError)) return;
    principal.answered?.(credentials, {
      call,
      ...(error instanceof ServiceError && { error }),
      ...(judged.date !== undefined && { date: judged.date }),
    });
  }
}

function closingOf(judged: Judged | undefined) {
  if (judged === undefined || judged.isSuccess || !judged.closesGate || judged.retryAfterMs === undefined)
    return undefined;
  return { reason: judged, retryAfterMs: judged.retryAfterMs };
}
