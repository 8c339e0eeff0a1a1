import type { Clock } from "../lib/clock.ts";
import { unlessAborted } from "../lib/wait.ts";
import type { AnyCall } from "../wire/call.ts";
import { TimeoutError } from "../wire/errors.ts";
import { type Judged, judgeAnswer, judgeSilence, type Repeatability } from "./answer.ts";
import { type InterceptedRequest, type Interceptor, runIntercepted } from "./interceptors.ts";
import type { Credentials } from "./principal.ts";
import { readTunnelled, type WireRequest } from "./request.ts";

/** Reads a response in its own way, such as the bytes of a file; undefined if it is an ordinary answer. */
export type ReadAnswer = (response: Response, end: AbortController) => Judged | undefined;

/** What the attempts of a call have in common. */
export interface Attempts {
  readonly call: AnyCall;
  readonly request: WireRequest;
  readonly repeatability: Repeatability;
  readonly interceptors: readonly Interceptor[];
  readonly attemptMs: number;
  /** Ends the call. */
  readonly stop: AbortSignal;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly readAnswer?: ReadAnswer | undefined;
}

/**
 * Sends a request once.
 *
 * @throws the reason of `stop`, once that is aborted
 */
export async function attemptOnce(
  { call, request, repeatability, interceptors, attemptMs, stop, fetch, clock, readAnswer }: Attempts,
  { root }: Credentials,
  authorization: string | undefined,
  seen: InterceptedRequest,
): Promise<Judged> {
  const end = new AbortController();
  const endByStop = () => end.abort(stop.reason);
  const message = `${call.operation.id}: TimeoutError: the time of the attempt is up`;
  const cancelTimer = clock.after(attemptMs, () => end.abort(new TimeoutError(message, "attempt")));
  stop.addEventListener("abort", endByStop);
  const { method, path, query = "", key, contentType, body } = request;

  async function send(): Promise<Response> {
    const headers = new Headers(seen.headers);
    headers.delete("Authorization");
    if (authorization !== undefined) headers.set("Authorization", authorization);
    if (key !== undefined) headers.set("Idempotency-Key", key);
    if (contentType !== undefined) headers.set("Content-Type", contentType);
    const content = typeof body === "function" ? body() : body;
    return fetch(root + path + query, {
      method,
      headers,
      signal: end.signal,
      credentials: "omit",
      redirect: readAnswer === undefined ? "manual" : "follow",
      ...(content !== undefined && { body: content }),
      ...(content instanceof ReadableStream && { duplex: "half" }),
    });
  }

  async function exchange(): Promise<Judged> {
    const response = await runIntercepted(
      interceptors.map(({ attempt }) => attempt?.bind(undefined)),
      seen,
      send,
    );
    const own = readAnswer?.(response, end);
    if (own !== undefined) return own;
    const text = await response.text();
    return judgeAnswer(call, repeatability, response, request.isTunnelled ? readTunnelled(text) : text);
  }

  try {
    return await unlessAborted(exchange(), end.signal);
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    return judgeSilence(call, repeatability, error);
  } finally {
    cancelTimer();
    stop.removeEventListener("abort", endByStop);
  }
}
