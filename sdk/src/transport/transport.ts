import { systemClock } from "../lib/clock.ts";
import { observe } from "../lib/events.ts";
import type { Call } from "../wire/call.ts";
import { ConfigurationError, type ErrorDetails, isNamed, ServiceError } from "../wire/errors.ts";
import { type Judged, timeOf } from "./answer.ts";
import { type Around, type AttemptedCall, attemptOnce } from "./attempt.ts";
import { checkCallOptions } from "./call-options.ts";
import { decodeResult } from "./decode.ts";
import { createGate, type Gate } from "./gate.ts";
import type { Interceptors } from "./interceptors.ts";
import { detailsOf, type KeyedCall, keyCall, prepare } from "./keyed-call.ts";
import { createLimits, type Run } from "./limits.ts";
import { consoleLogger } from "./logger.ts";
import type { CallOptions, Meta, Retry, Sent, Signer, TransportOptions } from "./options.ts";
import type { Credentials, PrincipalSource } from "./principal.ts";
import { reportProgress } from "./progress.ts";
import { createRepeats, type NextRepeat } from "./repeats.ts";
import { buildRequest } from "./request.ts";
import type { Uploads } from "./upload.ts";

/** Sends calls, and retries them until they get a response or time out. */
export interface Transport {
  /** The request begins in the next microtask. */
  send<T>(call: Call<T>, principal: PrincipalSource, options?: CallOptions): Sent<T>;
  /** Signs all requests from now on. */
  sign(signer: Signer): void;
  /** For code that retries calls itself. */
  readonly pace: Pace;
  /** Rejects all pending and later calls with AbortedError. */
  close(): void;
}

/** Decides when calls are retried. */
export interface Pace {
  /** The time that a call may take with all its retries. */
  readonly totalMs: number;
  repeats(retry: Retry | undefined): NextRepeat;
  /** @throws AbortedError once the app has aborted the call or closed the client */
  wait(ms: number, options: CallOptions, details: ErrorDetails): Promise<void>;
  now(): number;
}

/** The headers that no app may set, because the client sets them. */
const ownHeaders: readonly string[] = ["authorization", "content-type", "idempotency-key"];
/** The repeat of such a call finds its token dead if the first attempt was done. */
const endsToken: ReadonlySet<string> = /* @__PURE__ */ new Set(["logoutUser", "deleteUser", "endToken"]);

/** What not every client needs: a client without a part does not ship it. */
export interface TransportParts {
  readonly uploads?: Uploads;
  readonly interceptors?: Interceptors;
  /** The members of results that are dates in addition to those of the application API. */
  readonly moreDates?: ReadonlySet<string>;
  /** Called after each successful answer of the service. */
  readonly onSuccess?: () => void;
}

/** A call that the client is sending. */
interface Started extends KeyedCall {
  readonly callOptions: CallOptions;
  /** The deadline. */
  readonly until: number;
  /** The answer, once there is one. */
  last?: Judged;
}

/** A call whose request is built. */
interface Sending extends Started, AttemptedCall {
  readonly run: Run;
}

export function createTransport(
  options: TransportOptions = {},
  { uploads, interceptors, moreDates, onSuccess }: TransportParts = {},
): Transport {
  const { clock = systemClock, logger = consoleLogger, scheme = "Service" } = options;
  const { totalMs = 90_000 } = options.timeouts ?? {};
  const limits = createLimits(clock);
  const gates = new Map<string, Gate>();
  let signer: Signer | undefined;
  const repeats = createRepeats(clock, options.retry);
  const services = { options, clock, limits, uploads, spare: [] };

  function send<T>(call: Call<T>, source: PrincipalSource, given?: CallOptions): Sent<T> {
    const callOptions = checkCallOptions(given);
    const keyed = keyCall(call, callOptions.idempotencyKey);
    const { isDownload, hasFile } = call.operation;
    const limitMs = callOptions.timeoutMs ?? (isDownload || hasFile ? Number.POSITIVE_INFINITY : totalMs);
    const startedAt = clock.now();
    const started: Started = { ...keyed, callOptions, until: startedAt + limitMs };
    const describe = () => detailsOf(started, started.canRepeat);
    const work = (run: Run) => begin(started, source, run);
    const sent = limits.run(limitMs, "total", callOptions.signal, describe, work);
    const meta = sent.then((): Meta => {
      const { attempts, last: { status = 200, requestId = "", replayed = false } = {} } = started;
      return { status, requestId, replayed, attempts, durationMs: clock.now() - startedAt };
    });
    meta.catch(() => {});
    // The type of the result is that of the generated description.
    return Object.assign(sent as Promise<T>, { meta });
  }

  /** Builds the request, which is the same for all attempts. */
  async function begin(started: Started, source: PrincipalSource, run: Run): Promise<unknown> {
    await undefined; // the request begins in the next microtask
    run.check();
    const { call, callOptions, key } = started;
    const isIntercepted = interceptors?.size;
    const { headers, idempotencyKey } = callOptions;
    const readHeaders = () => {
      if (idempotencyKey !== undefined) new Headers([["idempotency-key", idempotencyKey]]);
      return headers || isIntercepted ? new Headers(headers) : undefined;
    };
    const added = prepare(started, readHeaders, "headers and keys must be text that HTTP can carry");
    for (const name of ownHeaders)
      if (added?.has(name))
        throw new ConfigurationError(`the client sets the header ${name} by itself`, detailsOf(started, false));
    const request = prepare(started, () => buildRequest(call, key, options.methods === "get-post", uploads));
    const report = reportProgress(callOptions.onProgress, request.length, clock);
    const sending = Object.assign(started, { request, added, run, report });
    const work = () => attemptUntilAnswered(sending, source);
    return added && isIntercepted ? interceptors.run("call", sending, added, work) : work();
  }

  /** Attempts the call again as long as it may succeed, by the same principal. */
  async function attemptUntilAnswered(sending: Sending, source: PrincipalSource): Promise<unknown> {
    const { call, callOptions, until, run } = sending;
    const { id, isDownload } = call.operation;
    const principal = await (typeof source === "function" ? source() : source);
    let credentials = await principal.credentials();
    let nextRepeat: NextRepeat | undefined;
    let isReplaced = false;
    for (;;) {
      const wasUncertain = sending.isUncertain;
      const begun = clock.now();
      const judged = await attemptAtGate(sending, principal.id, credentials);
      const { fail, mayBeDone, provesUndone, repeats: mayRepeat, status, headers, requestId, result } = judged;
      sending.isUncertain = !!fail && (!!mayBeDone || (wasUncertain && !provesUndone));
      const error = fail?.(detailsOf(sending, !!mayRepeat));
      const { attempts } = sending;
      const ms = clock.now() - begun;
      const fields = { operation: id, attempt: attempts, status, requestId, error: error?.name, ms };
      observe(() => logger.debug("attempt of a call", fields));
      // An answer of a proxy contains no information about the principal.
      if (!error || error instanceof ServiceError)
        principal.answered?.(credentials, { call, error, time: timeOf(headers) });
      if (!error) {
        repeats.succeed();
        onSuccess?.();
        sending.last = judged;
        return isDownload ? result : decodeResult(result, moreDates);
      }
      if (isNamed(error, "AuthAccessTokenInvalid") && credentials.token) {
        if (wasUncertain && endsToken.has(id)) return void principal.answered?.(credentials, { call });
        if (isReplaced || !principal.replace) throw error;
        isReplaced = true;
        credentials = await principal.replace(credentials, error);
        continue;
      }
      nextRepeat ??= repeats.of(callOptions.retry);
      const waitMs = nextRepeat(judged, until - clock.now());
      if (waitMs === undefined) throw error;
      const reason = error.name;
      observe(() => logger.info("repeating a call", { operation: id, attempt: attempts, reason, waitMs }));
      await limits.wait(waitMs, run);
    }
  }

  /** Makes one attempt as soon as the circuit breaker of the principal admits it. */
  async function attemptAtGate(sending: Sending, principalId: string, credentials: Credentials): Promise<Judged> {
    const { request, isRead, until, run } = sending;
    const { root, token } = credentials;
    run.check();
    const gate = gates.get(principalId) ?? createGate(clock);
    gates.set(principalId, gate);
    const refuse = ({ fail, repeats }: Judged, retryAfterMs: number) =>
      fail?.({ ...detailsOf(sending, !!repeats), retryAfterMs });
    const isProbe = !!gate.closing && (await gate.enter(until, run, refuse));
    let judged: Judged | undefined;
    try {
      const signature = signer && (await signer(request.method, request.path));
      run.check();
      sending.attempts += 1;
      sending.isUncertain ||= !isRead;
      const authorization = token && `${scheme} ${token}${signature === undefined ? "" : ` ${signature}`}`;
      const around: Around | false =
        !!interceptors?.size &&
        ((headers, exchange) => {
          if (authorization) headers.set("authorization", "[secret]");
          return interceptors.run("attempt", sending, headers, () => exchange(headers));
        });
      judged = await attemptOnce(services, sending, root, authorization, around, run);
      run.check();
      return judged;
    } finally {
      gate.leave(judged, isProbe);
    }
  }

  return {
    send,
    sign(own) {
      signer = own;
    },
    pace: {
      totalMs,
      repeats: repeats.of,
      wait: (ms, { signal }, details) =>
        limits.run(
          Number.POSITIVE_INFINITY,
          "total",
          signal,
          () => details,
          (run) => limits.wait(ms, run),
        ),
      now: clock.now,
    },
    close: limits.close,
  };
}
