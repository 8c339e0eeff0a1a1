import { systemClock } from "../lib/clock.ts";
import { sleep } from "../lib/wait.ts";
import type { Call } from "../wire/call.ts";
import { RollcallError } from "../wire/errors.ts";
import type { Failure } from "./answer.ts";
import { createGate, type Gate } from "./gate.ts";
import type { Interceptor } from "./interceptors.ts";
import { consoleLogger } from "./logger.ts";
import type { CallOptions, Sent, Signer, TransportOptions } from "./options.ts";
import type { Principal } from "./principal.ts";
import { createBudget, createRepeats, type Repeats } from "./repeats.ts";
import { runCall, type Shared, totalMsDefault } from "./run-call.ts";
import { createStop } from "./stop.ts";

/** Sends calls, and repeats them until they are answered or their time is up. */
export interface Transport {
  /** The request begins in the next microtask. */
  send<T>(call: Call<T>, principal: Principal, options?: CallOptions): Sent<T>;
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
  repeats(options: CallOptions): Repeats;
  /** @throws AbortedError once the app has aborted the call or closed the client */
  wait(ms: number, options: CallOptions): Promise<void>;
  now(): number;
}

export function createTransport(options: TransportOptions = {}): Transport {
  const { clock = systemClock, logger = consoleLogger } = options;
  const closing = new AbortController();
  const gates = new Map<string, Gate<Failure>>();
  const interceptors = new Set<Interceptor>();
  const shared: Shared = {
    options,
    clock,
    logger,
    closing: closing.signal,
    interceptors,
    budget: createBudget(),
    gateOf({ id }) {
      const gate = gates.get(id) ?? createGate<Failure>(clock);
      gates.set(id, gate);
      return gate;
    },
  };

  return {
    send<T>(call: Call<T>, principal: Principal, callOptions: CallOptions = {}): Sent<T> {
      const origin = new Error(); // its text is made when it is read, which costs more than a request
      const answer = Promise.resolve().then(() => runCall(call, principal, callOptions, shared));
      const result = answer.then(
        // The type of the result is that of the generated description.
        ({ result }) => result as T,
        (error) => {
          throw withStack(error, origin);
        },
      );
      const meta = answer.then(({ meta }) => meta);
      meta.catch(() => {});
      return Object.assign(result, { meta });
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
      totalMs: options.timeouts?.totalMs ?? totalMsDefault,
      repeats: ({ retry }) => createRepeats(retry ?? options.retry, shared.budget, clock),
      async wait(ms, { signal }) {
        const stop = createStop(Number.POSITIVE_INFINITY, signal, closing.signal, clock);
        try {
          await sleep(ms, stop.signal, clock);
        } catch {
          throw stop.create("runBatch", {});
        } finally {
          stop.dispose();
        }
      },
      now: clock.now,
    },
    close() {
      closing.abort();
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
