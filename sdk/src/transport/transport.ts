import { systemClock } from "../lib/clock.ts";
import { newUuid } from "../lib/uuid.ts";
import type { Call } from "../wire/call.ts";
import { ConfigurationError, describeCall, type ErrorDetails, isNamed, ServiceError } from "../wire/errors.ts";
import { type Judged, timeOf } from "./answer.ts";
import { attemptOnce } from "./attempt.ts";
import { decodeResult } from "./decode.ts";
import { createGate, type Gate } from "./gate.ts";
import { type InterceptedRequest, type Interceptor, ownHeaders } from "./interceptors.ts";
import { createLimits, type Run } from "./limits.ts";
import { consoleLogger } from "./logger.ts";
import type { CallOptions, Meta, Retry, Sent, Signer, TransportOptions } from "./options.ts";
import type { Credentials, PrincipalSource } from "./principal.ts";
import { createRepeats, type NextRepeat } from "./repeats.ts";
import { buildRequest } from "./request.ts";
import type { Uploads } from "./upload.ts";

/** Sends calls, and retries them until they are answered or their time is up. */
export interface Transport {
  /** The request begins in the next microtask. */
  send<T>(call: Call<T>, principal: PrincipalSource, options?: CallOptions): Sent<T>;
  /** Whether code of the app runs around calls. */
  readonly hasInterceptors: boolean;
  /** Returns a function that removes the interceptor. */
  intercept(interceptor: Interceptor): () => void;
  /** Signs all requests from now on. */
  sign(signer: Signer): void;
  /** For code that retries calls itself. */
  readonly pace: Pace;
  /** Ends all pending calls with AbortedError, and refuses further ones. */
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

/** The repeat of such a call finds its token dead if the first attempt was done. */
const endsToken: ReadonlySet<string> = /* @__PURE__ */ new Set(["logoutUser", "deleteUser", "endToken"]);

/** What not every client needs: a client without a part does not ship it. */
export interface TransportParts {
  readonly uploads?: Uploads;
  /** The members of results that are dates beside those of the application API. */
  readonly moreDates?: ReadonlySet<string>;
}

export function createTransport(
  options: TransportOptions = {},
  { uploads, moreDates }: TransportParts = {},
): Transport {
  const { clock = systemClock, logger = consoleLogger, scheme = "Service" } = options;
  const { totalMs = 90_000 } = options.timeouts ?? {};
  const limits = createLimits(clock);
  const gates = new Map<string, Gate>();
  const interceptors = new Set<Interceptor>();
  let signer: Signer | undefined;
  const repeats = createRepeats(clock, options.retry);
  const services = { options, clock, limits, uploads };

  /** Runs the interceptors around a piece of work, the first one outermost. */
  function intercepted<T>(kind: "call" | "attempt", seen: InterceptedRequest, work: () => Promise<T>): Promise<T> {
    type Wrap = ((seen: InterceptedRequest, next: () => Promise<T>) => Promise<T>) | undefined;
    return [...interceptors].reduceRight((next, interceptor) => {
      const wrap = interceptor[kind] as Wrap;
      return wrap ? async () => wrap.call(interceptor, seen, next) : next;
    }, work)();
  }

  function send<T>(call: Call<T>, source: PrincipalSource, callOptions: CallOptions = {}): Sent<T> {
    const { operation, path } = call;
    const { id, isDownload, hasFile } = operation;
    const { signal, context, retry, headers: ownOfApp } = callOptions;
    const startedAt = clock.now();
    const limitMs = callOptions.timeoutMs ?? (isDownload || hasFile ? Number.POSITIVE_INFINITY : totalMs);
    const key = operation.isIdempotent ? (callOptions.idempotencyKey ?? newUuid()) : undefined;
    const isRead = operation.method === "GET";
    const repeatability = { isRead, canRepeat: isRead || !!key || !!operation.isRepeatable };
    let attempts = 0;
    /** Whether an attempt of a write may have been done. */
    let isUncertain = false;
    let durationMs = 0;
    let last: Judged = {};

    const detailsOf = (isRetryable: boolean): ErrorDetails => ({
      call: describeCall(call),
      attempts,
      idempotencyKey: key,
      outcome: isUncertain ? "unknown" : "none",
      isRetryable,
    });

    async function begin(run: Run): Promise<unknown> {
      await undefined; // the request begins in the next microtask
      run.check();
      const headers = ownOfApp && new Headers(ownOfApp);
      for (const name of ownHeaders)
        if (headers?.has(name))
          throw new ConfigurationError(`the client sets the header ${name} by itself`, detailsOf(false));
      const request = buildRequest(call, key, options.methods === "get-post", uploads);
      const { method } = request;

      function attempt(
        { root, token }: Credentials,
        signature: string | undefined,
        added: Headers | undefined,
      ): Promise<Judged> {
        const authorization = token && `${scheme} ${token}${signature === undefined ? "" : ` ${signature}`}`;
        const around = (headers: Headers, exchange: (headers: Headers) => Promise<Response>) => {
          if (authorization) headers.set("authorization", "[secret]");
          const seen = { operation, method, path, headers, context, attempt: attempts };
          return intercepted("attempt", seen, () => exchange(headers));
        };
        const own = { call, callOptions, request, repeatability, root, authorization, added };
        return attemptOnce(services, { ...own, around: interceptors.size > 0 ? around : undefined }, run);
      }

      function attemptIntercepted(headers = new Headers()): Promise<unknown> {
        const seen = { operation, method, path, headers, context };
        return intercepted("call", seen, () => attemptAll(headers));
      }

      async function attemptAll(added: Headers | undefined): Promise<unknown> {
        const principal = await (typeof source === "function" ? source() : source);
        const gate = gates.get(principal.id) ?? createGate(clock);
        gates.set(principal.id, gate);
        let credentials = await principal.credentials();
        let nextRepeat: NextRepeat | undefined;
        let isReplaced = false;
        for (;;) {
          run.check();
          const wasUncertain = isUncertain;
          const isProbe =
            !!gate.closing &&
            (await gate.enter(startedAt + limitMs, run, ({ fail, repeats }, retryAfterMs) =>
              fail?.({ ...detailsOf(!!repeats), retryAfterMs }),
            ));
          let judged: Judged | undefined;
          try {
            const signature = signer && (await signer(method, request.path));
            run.check();
            attempts += 1;
            isUncertain ||= !isRead;
            judged = await attempt(credentials, signature, added);
            run.check();
          } finally {
            gate.leave(judged, isProbe);
          }
          const { fail, status, headers, result } = judged;
          isUncertain = !!fail && (!!judged.mayBeDone || (wasUncertain && !judged.provesUndone));
          const error = fail?.(detailsOf(!!judged.repeats));
          logger.debug("attempt of a call", { operation: id, attempt: attempts, status, error: error?.name });
          // An answer of a proxy contains no information about the principal.
          if (!error || error instanceof ServiceError)
            principal.answered?.(credentials, { call, error, time: timeOf(headers) });
          if (!error) {
            repeats.succeed();
            last = judged;
            return isDownload ? result : decodeResult(result, moreDates);
          }
          if (isNamed(error, "AuthAccessTokenInvalid") && credentials.token) {
            if (wasUncertain && endsToken.has(id)) {
              principal.answered?.(credentials, { call });
              return undefined;
            }
            if (isReplaced || !principal.replace) throw error;
            isReplaced = true;
            credentials = await principal.replace(credentials, error, call);
            continue;
          }
          nextRepeat ??= repeats.of(retry);
          const waitMs = nextRepeat(judged, startedAt + limitMs - clock.now());
          if (waitMs === undefined) throw error;
          logger.info("repeating a call", { operation: id, attempt: attempts, reason: error.name, waitMs });
          await limits.wait(waitMs, run);
        }
      }

      const result = await (interceptors.size > 0 ? attemptIntercepted(headers) : attemptAll(headers));
      durationMs = clock.now() - startedAt;
      return result;
    }

    const sent = limits.run(limitMs, "total", signal, () => detailsOf(repeatability.canRepeat), begin);
    const meta = sent.then((): Meta => {
      const { status = 200, requestId = "", replayed = false } = last;
      return { status, requestId, replayed, attempts, durationMs };
    });
    meta.catch(() => {});
    // The type of the result is that of the generated description.
    return Object.assign(sent as Promise<T>, { meta });
  }

  return {
    send,
    get hasInterceptors() {
      return interceptors.size > 0;
    },
    intercept(interceptor) {
      interceptors.add(interceptor);
      return () => void interceptors.delete(interceptor);
    },
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
