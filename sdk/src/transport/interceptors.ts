import type { AnyCall, Operation } from "../wire/call.ts";
import type { CallOptions } from "./options.ts";
import type { WireRequest } from "./request.ts";

/** The request as an interceptor sees it. Headers that it adds are sent; `Authorization` reads as `[secret]`. */
export interface InterceptedRequest {
  readonly operation: Operation;
  readonly method: string;
  /** The path, without the query, which may contain personal data. */
  readonly path: string;
  readonly headers: Headers;
  /** The context that the app has passed in the options of the call. */
  readonly context?: unknown;
  /** The number of the attempt, from 1; undefined for an interceptor around all attempts of a call. */
  readonly attempt?: number | undefined;
}

/** Code of the app around each call, with all its attempts, or around each attempt. */
export interface Interceptor {
  call?(request: InterceptedRequest, next: () => Promise<unknown>): Promise<unknown>;
  attempt?(request: InterceptedRequest, next: () => Promise<Response>): Promise<Response>;
}

/** The parts of a call that its interceptors see. */
interface SentCall {
  readonly call: AnyCall;
  readonly callOptions: CallOptions;
  readonly request: WireRequest;
  readonly attempts: number;
}

/** The interceptors of a client. */
export interface Interceptors extends Set<Interceptor> {
  /** Runs them around a piece of work, the first one outermost. */
  run<T>(kind: keyof Interceptor, sent: SentCall, headers: Headers, work: () => Promise<T>): Promise<T>;
}

export function createInterceptors(): Interceptors {
  const interceptors = new Set<Interceptor>();
  return Object.assign(interceptors, {
    run<T>(kind: keyof Interceptor, sent: SentCall, headers: Headers, work: () => Promise<T>): Promise<T> {
      type Wrap = ((seen: InterceptedRequest, next: () => Promise<T>) => Promise<T>) | undefined;
      const { operation, path } = sent.call;
      const { method } = sent.request;
      const seen = {
        operation,
        method,
        path,
        headers,
        context: sent.callOptions.context,
        attempt: sent.attempts || undefined,
      };
      return [...interceptors].reduceRight((next, interceptor) => {
        const wrap = interceptor[kind] as Wrap;
        return wrap ? async () => wrap.call(interceptor, seen, next) : next;
      }, work)();
    },
  });
}
