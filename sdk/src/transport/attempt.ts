import type { Clock } from "../lib/clock.ts";
import { unlessAborted } from "../lib/wait.ts";
import type { AnyCall } from "../wire/call.ts";
import { TimeoutError } from "../wire/errors.ts";
import { type Judged, judgeAnswer, judgeSilence, type Repeatability } from "./answer.ts";
import { isFile, openDownload } from "./download.ts";
import { type InterceptedRequest, type Interceptor, runIntercepted } from "./interceptors.ts";
import type { CallOptions } from "./options.ts";
import type { Credentials } from "./principal.ts";
import { reportProgress } from "./progress.ts";
import { readTunnelled, type WireRequest } from "./request.ts";
import { countBytes, sendByXhr } from "./upload.ts";

/** What the attempts of a call have in common. */
export interface Attempts {
  readonly call: AnyCall;
  readonly request: WireRequest;
  readonly repeatability: Repeatability;
  readonly interceptors: readonly Interceptor[];
  readonly attemptMs: number;
  /** Ends the call. */
  readonly stop: AbortSignal;
  readonly fetch: typeof fetch | undefined;
  readonly clock: Clock;
  readonly options: CallOptions;
  readonly closing: AbortSignal;
  readonly stallMs: number;
}

/**
 * Sends a request once.
 *
 * @throws the reason of `stop`, once that is aborted
 */
export async function attemptOnce(
  attempts: Attempts,
  { root }: Credentials,
  authorization: string | undefined,
  seen: InterceptedRequest,
): Promise<Judged> {
  const { call, request, repeatability, interceptors, stop, clock } = attempts;
  const end = new AbortController();
  const endByStop = () => end.abort(stop.reason);
  const endLate = () =>
    end.abort(new TimeoutError(`${call.operation.id}: TimeoutError: the time of the attempt is up`, "attempt"));
  let cancelTimer = clock.after(attempts.attemptMs, endLate);
  stop.addEventListener("abort", endByStop);

  async function send(): Promise<Response> {
    const { key, contentType } = request;
    const headers = new Headers(seen.headers);
    headers.delete("Authorization");
    if (authorization !== undefined) headers.set("Authorization", authorization);
    if (key !== undefined) headers.set("Idempotency-Key", key);
    if (contentType !== undefined) headers.set("Content-Type", contentType);
    return sendRequest(`${root}${request.path}${request.query ?? ""}`, headers, end.signal, attempts, () => {
      cancelTimer();
      cancelTimer = clock.after(attempts.stallMs, endLate);
    });
  }

  async function exchange(): Promise<Judged> {
    const wrappers = interceptors.map(({ attempt }) => attempt);
    const response = await runIntercepted(wrappers, seen, send);
    if (call.operation.isDownload && isFile(response)) {
      const result = openDownload(response, { ...attempts, end: () => end.abort() });
      return { isSuccess: true, status: response.status, requestId: "", replayed: false, result };
    }
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

/** @param moved called when bytes of an upload have been sent */
function sendRequest(
  url: string,
  headers: Headers,
  signal: AbortSignal,
  { call, request, options, clock, fetch: ownFetch }: Attempts,
  moved: () => void,
): Promise<Response> {
  const { method, length } = request;
  let body = typeof request.body === "function" ? request.body() : request.body;
  if (options.onProgress !== undefined && body !== undefined && typeof body !== "string") {
    const report = reportProgress(options.onProgress, length, clock);
    const onProgress = (done: number) => {
      moved();
      report(done);
    };
    if (body instanceof Blob && ownFetch === undefined && typeof XMLHttpRequest === "function") {
      return sendByXhr(url, { method, headers, body, signal }, onProgress);
    }
    body = countBytes(body, onProgress);
  }
  return (ownFetch ?? fetch)(url, {
    method,
    headers,
    signal,
    credentials: "omit",
    // What an API answers with a redirect was written by a proxy; a store may send a file from elsewhere.
    redirect: call.operation.isDownload ? "follow" : "manual",
    ...(body !== undefined && { body }),
    ...(body instanceof ReadableStream && { duplex: "half" }),
  });
}
