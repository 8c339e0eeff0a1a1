import type { Stop } from "../lib/stop.ts";
import { newUuid } from "../lib/uuid.ts";
import { sleep } from "../lib/wait.ts";
import type { AnyCall } from "../wire/call.ts";
import { ConfigurationError, describeCall, type ErrorDetails, ServiceError } from "../wire/errors.ts";
import { dateOf, type Failure, type Judged, repeatabilityOf, type Success } from "./answer.ts";
import { attemptOnce } from "./attempt.ts";
import { decodeResult } from "./decode.ts";
import type { Leave } from "./gate.ts";
import { ownHeaders, runIntercepted } from "./interceptors.ts";
import { runWithin } from "./limits.ts";
import type { CallOptions, Meta } from "./options.ts";
import type { Credentials, PrincipalSource } from "./principal.ts";
import { createRepeats, type NextRepeat, refill } from "./repeats.ts";
import { buildRequest } from "./request.ts";
import type { Run, Shared } from "./run.ts";

export interface Answer {
  readonly result: unknown;
  readonly meta: Meta;
}

/** The repeat of such a call finds its token dead if the first attempt was done. */
const endsToken: ReadonlySet<string> = new Set(["logoutUser", "deleteUser", "endToken"]);

/** Sends a call until it is answered, its time is up, or a repeat cannot help. */
export function runCall(call: AnyCall, source: PrincipalSource, options: CallOptions, shared: Shared): Promise<Answer> {
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

  async function run(stop: Stop): Promise<Answer> {
    await undefined; // the request begins in the next microtask
    stop.throwIfStopped();
    const result = await intercepted(stop);
    const { status = 200, requestId = "", replayed = false } = success;
    return { result, meta: { status, requestId, replayed, attempts, durationMs: clock.now() - startedAt } };
  }

  function intercepted(stop: Stop): Promise<unknown> {
    const added = checkHeaders();
    const request = buildRequest(call, key, shared.options.methods === "get-post");
    const run: Run = { call, options, shared, request, repeatability, stop };
    if (shared.interceptors.size === 0) return runAttempts(run, added);
    const { method } = request;
    const { context } = options;
    const seen = { operation, method, path: call.path, headers: added ?? new Headers(), context };
    const wrappers = [...shared.interceptors].map((interceptor) => interceptor.call);
    return runIntercepted(wrappers, seen, () => runAttempts(run, seen.headers));
  }

  /** The headers of the app. */
  function checkHeaders(): Headers | undefined {
    if (options.headers === undefined) return undefined;
    const refused = Object.keys(options.headers).find((name) => ownHeaders.includes(name.toLowerCase()));
    if (refused === undefined) return new Headers(options.headers);
    throw new ConfigurationError(`the client sets the header ${refused} by itself`, detailsOf(false));
  }

  async function runAttempts(run: Run, headers: Headers | undefined): Promise<unknown> {
    const principal = await (typeof source === "function" ? source() : source);
    const gate = shared.gateOf(principal);
    let nextRepeat: NextRepeat | undefined;
    let credentials = await principal.credentials();
    let isReplaced = false;

    for (;;) {
      const wasUncertain = isUncertain;
      const leave = gate.isOpen ? gate.leave : await gate.enter(deadline, run.stop);
      if (typeof leave !== "function") {
        const { reason, retryAfterMs } = leave;
        throw reason.create({ ...detailsOf(reason.repeats !== "no"), retryAfterMs });
      }
      let judged: Judged | undefined;
      try {
        const { signer } = shared;
        const signature = signer && (await signer(run.request.method, run.request.path));
        run.stop.throwIfStopped();
        attempts += 1;
        isUncertain ||= repeatability !== "read";
        judged = await attemptOnce(run, credentials, authorize(credentials, signature), headers, attempts);
        run.stop.throwIfStopped();
      } finally {
        leave(outcomeOf(judged));
      }
      const { status } = judged;
      isUncertain = !judged.isSuccess && (judged.mayBeDone || (wasUncertain && !judged.provesUndone));
      const error = judged.isSuccess ? undefined : judged.create(detailsOf(judged.repeats !== "no"));
      logger.debug("attempt of a call", { operation: operation.id, attempt: attempts, status, error: error?.name });
      // What a proxy answers says nothing about the principal.
      if (principal.answered !== undefined && (error === undefined || error instanceof ServiceError))
        principal.answered(credentials, { call, error, date: dateOf(judged.headers) });
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
      nextRepeat ??= createRepeats(options.retry ?? shared.options.retry, shared.budget, clock);
      const waitMs = nextRepeat(judged, deadline - clock.now());
      if (waitMs === undefined) throw error;
      logger.info("repeating a call", { operation: operation.id, attempt: attempts, reason: error?.name, waitMs });
      await sleep(waitMs, run.stop, clock);
    }
  }

  function authorize({ token }: Credentials, signature: string | undefined): string | undefined {
    if (token === "") return undefined;
    const { scheme = "Service" } = shared.options;
    return signature === undefined ? `${scheme} ${token}` : `${scheme} ${token} ${signature}`;
  }

  const limits = { totalMs, signal: options.signal, closing: shared.closing, clock };
  return runWithin(limits, () => detailsOf(repeatability !== "plain"), run);
}

/** What an attempt says about the gate. */
function outcomeOf(judged: Judged | undefined): Parameters<Leave<Failure>>[0] {
  if (judged?.status === undefined) return "silent";
  if (judged.isSuccess || !judged.closesGate || judged.retryAfterMs === undefined) return "answered";
  return { reason: judged, retryAfterMs: judged.retryAfterMs };
}
