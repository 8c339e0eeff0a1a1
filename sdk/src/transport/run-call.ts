import { newUuid } from "../lib/uuid.ts";
import { sleep } from "../lib/wait.ts";
import { withoutAbsent } from "../lib/without-absent.ts";
import type { AnyCall } from "../wire/call.ts";
import { ConfigurationError, describeCall, type ErrorDetails, ServiceError } from "../wire/errors.ts";
import { type Judged, repeatabilityOf, type Success } from "./answer.ts";
import { attemptOnce } from "./attempt.ts";
import { decodeResult } from "./decode.ts";
import { ownHeaders, runIntercepted } from "./interceptors.ts";
import type { CallOptions, Meta } from "./options.ts";
import type { Credentials, PrincipalSource } from "./principal.ts";
import { createRepeats, refill } from "./repeats.ts";
import { buildRequest, type WireRequest } from "./request.ts";
import type { Run, Shared } from "./run.ts";
import { runWithin } from "./stop.ts";

export interface Answer {
  readonly result: unknown;
  readonly meta: Meta;
}

/** The repeat of such a call finds its token dead if the first attempt was done. */
const endsToken: ReadonlySet<string> = new Set(["logoutUser", "deleteUser", "endToken"]);

/** Sends a call until it is answered, its time is up, or a repeat cannot help. */
export async function runCall(
  call: AnyCall,
  source: PrincipalSource,
  options: CallOptions,
  shared: Shared,
): Promise<Answer> {
  const { operation } = call;
  const { clock, logger } = shared;
  const isTransfer = operation.isDownload || operation.hasFile;
  const startedAt = clock.now();
  const totalMs = options.timeoutMs ?? (isTransfer ? Number.POSITIVE_INFINITY : shared.timeouts.totalMs);
  const deadline = startedAt + totalMs;
  const key = operation.isIdempotent ? (options.idempotencyKey ?? newUuid()) : undefined;
  const repeatability = repeatabilityOf(call, key);
  let attempts = 0;
  /** Whether an attempt of a write may have been done. */
  let isUncertain = false;
  let success: Partial<Success> = {};

  const detailsOf = (isRetryable: boolean): ErrorDetails => ({
    call: describeCall(call),
    attempts,
    idempotencyKey: key,
    outcome: isUncertain ? "unknown" : "none",
    isRetryable,
  });

  async function intercepted(stop: AbortSignal): Promise<unknown> {
    refuseOwnHeaders();
    const request = buildRequest(call, key, shared.options.methods === "get-post");
    const run: Run = { call, options, shared, request, repeatability, stop };
    const { method } = request;
    const { context } = options;
    const seen = { operation, method, path: call.path, headers: new Headers(options.headers), context };
    const wrappers = [...shared.interceptors].map((interceptor) => interceptor.call);
    return runIntercepted(wrappers, seen, () => runAttempts(run, seen.headers));
  }

  function refuseOwnHeaders(): void {
    const refused = Object.keys(options.headers ?? {}).find((name) => ownHeaders.includes(name.toLowerCase()));
    if (refused === undefined) return;
    throw new ConfigurationError(`the client sets the header ${refused} by itself`, detailsOf(false));
  }

  async function runAttempts(run: Run, headers: Headers): Promise<unknown> {
    const principal = typeof source === "function" ? await source() : source;
    const nextRepeat = createRepeats(options.retry ?? shared.options.retry, shared.budget, clock);
    let credentials = await principal.credentials();
    let isReplaced = false;

    async function attempt(): Promise<Judged> {
      const leave = await shared.gateOf(principal).enter(deadline, run.stop);
      if (typeof leave !== "function") {
        const { reason, retryAfterMs } = leave;
        throw reason.create({ ...detailsOf(reason.repeats !== "no"), retryAfterMs });
      }
      let judged: Judged | undefined;
      try {
        const authorization = await authorize(credentials, run.request);
        run.stop.throwIfAborted();
        attempts += 1;
        isUncertain ||= repeatability !== "read";
        judged = await attemptOnce(run, credentials, authorization, headers, attempts);
        return judged;
      } finally {
        leave(closingOf(judged) ?? (judged?.status === undefined ? "silent" : "answered"));
      }
    }

    for (;;) {
      const wasUncertain = isUncertain;
      const judged = await attempt();
      const { status, date } = judged;
      isUncertain = !judged.isSuccess && (judged.mayBeDone || (wasUncertain && !judged.provesUndone));
      const error = judged.isSuccess ? undefined : judged.create(detailsOf(judged.repeats !== "no"));
      logger.debug("attempt of a call", { operation: operation.id, attempt: attempts, status, error: error?.name });
      // What a proxy answers says nothing about the principal.
      if (error === undefined || error instanceof ServiceError)
        principal.answered?.(credentials, withoutAbsent({ call, error, date }));
      if (judged.isSuccess) {
        refill(shared.budget);
        success = judged;
        return operation.isDownload ? judged.result : decodeResult(judged.result);
      }
      if (error instanceof ServiceError && error.is("AuthAccessTokenInvalid") && credentials.token !== "") {
        if (wasUncertain && endsToken.has(operation.id)) {
          principal.answered?.(credentials, { call });
          return undefined;
        }
        if (isReplaced || principal.replace === undefined) throw error;
        isReplaced = true;
        credentials = await principal.replace(credentials, error, call);
        continue;
      }
      const waitMs = nextRepeat(judged, deadline - clock.now());
      if (waitMs === undefined) throw error;
      logger.info("repeating a call", { operation: operation.id, attempt: attempts, reason: error?.name, waitMs });
      await sleep(waitMs, run.stop, clock);
    }
  }

  async function authorize({ token }: Credentials, { method, path }: WireRequest): Promise<string | undefined> {
    if (token === "") return undefined;
    const { scheme = "Service" } = shared.options;
    const signature = await shared.signer?.(method, path);
    return signature === undefined ? `${scheme} ${token}` : `${scheme} ${token} ${signature}`;
  }

  const limits = { totalMs, signal: options.signal, closing: shared.closing, clock };
  const result = await runWithin(limits, () => detailsOf(repeatability !== "plain"), intercepted);
  const { status = 200, requestId = "", replayed = false } = success;
  return { result, meta: { status, requestId, replayed, attempts, durationMs: clock.now() - startedAt } };
}

function closingOf(judged: Judged | undefined) {
  if (judged === undefined || judged.isSuccess || !judged.closesGate || judged.retryAfterMs === undefined)
    return undefined;
  return { reason: judged, retryAfterMs: judged.retryAfterMs };
}
