import { systemClock } from "../lib/clock.ts";
import { Stop } from "../lib/stop.ts";
import { sleep } from "../lib/wait.ts";
import { withoutAbsent } from "../lib/without-absent.ts";
import type { Call } from "../wire/call.ts";
import { type ErrorDetails, RollcallError } from "../wire/errors.ts";
import type { Failure } from "./answer.ts";
import { createGate, type Gate } from "./gate.ts";
import type { Interceptor } from "./interceptors.ts";
import { runWithin } from "./limits.ts";
import { consoleLogger } from "./logger.ts";
import type { CallOptions, Meta, Sent, Signer, TransportOptions } from "./options.ts";
import type { PrincipalSource } from "./principal.ts";
import { budgetMax, createRepeats, type NextRepeat } from "./repeats.ts";
import type { Shared } from "./run.ts";
import { runCall } from "./run-call.ts";

/** Sends calls, and repeats them until they are answered or their time is up. */
export interface Transport {
  /** The request begins in the next microtask. */
  send<T>(call: Call<T>, principal: PrincipalSource, options?: CallOptions): Sent<T>;
  /** Whether code of the app runs around calls. */
  readonly hasInterceptors: boolean;
  /** Returns what removes the interceptor. */
  intercept(interceptor: Interceptor): () => void;
  /** Signs all requests from now on. */
  sign(signer: Signer): void;
  /** For what repeats calls by itself. */
  readonly pace: Pace;
  /** Ends all calls under way with AbortedError, and refuses further ones. */
  close(): void;
}

/** When calls are repeated. */
export interface Pace {
  /** How long a call may take with all its repeats. */
  readonly totalMs: number;
  repeats(options: CallOptions): NextRepeat;
  /** @throws AbortedError once the app has aborted the call or closed the client */
  wait(ms: number, options: CallOptions, details: ErrorDetails): Promise<void>;
  now(): number;
}

const timeoutsDefault = { attemptMs: 30_000, totalMs: 90_000, stallMs: 60_000 };

export function createTransport(options: TransportOptions = {}): Transport {
  const { clock = systemClock, logger = consoleLogger } = options;
  const closing = new Stop();
  const gates = new Map<string, Gate<Failure>>();
  const interceptors = new Set<Interceptor>();
  const shared: Shared = {
    options,
    timeouts: { ...timeoutsDefault, ...withoutAbsent(options.timeouts ?? {}) },
    clock,
    logger,
    closing,
    interceptors,
    budget: { left: budgetMax },
    gateOf({ id }) {
      const gate = gates.get(id) ?? createGate<Failure>(clock);
      gates.set(id, gate);
      return gate;
    },
  };

  return {
    send<T>(call: Call<T>, principal: PrincipalSource, callOptions: CallOptions = {}): Sent<T> {
      const origin = new Error(); // its text is made when it is read, which costs more than a request
      const answer = runCall(call, principal, callOptions, shared);
      const result = answer.then(
        // The type of the result is that of the generated description.
        ({ result }) => result as T,
        (error) => {
          throw withStack(error, origin);
        },
      ) as Promise<T> & { meta: Promise<Meta> };
      result.meta = answer.then(({ meta }) => meta);
      result.meta.catch(() => {});
      return result;
    },
    get hasInterceptors() {
      return interceptors.size > 0;
    },
    intercept(interceptor) {
      interceptors.add(interceptor);
      return () => void interceptors.delete(interceptor);
    },
    sign(signer) {
      shared.signer = signer;
    },
    pace: {
      totalMs: shared.timeouts.totalMs,
      repeats: ({ retry }) => createRepeats(retry ?? options.retry, shared.budget, clock),
      wait(ms, { signal }, details) {
        const limits = { totalMs: Number.POSITIVE_INFINITY, signal, closing, clock };
        return runWithin(
          limits,
          () => details,
          (stop) => sleep(ms, stop, clock),
        );
      },
      now: clock.now,
    },
    close() {
      closing.stop();
    },
  };
}

/** Shows in an error where the call was made, rather than where its answer was read. */
function withStack(error: unknown, { stack }: Error): unknown {
  const frames = stack?.indexOf("\n") ?? -1;
  if (error instanceof RollcallError && stack !== undefined && frames >= 0) {
    error.stack = `${error.name}: ${error.message}${stack.slice(frames)}`;
  }
  return error;
}
