import { unlessAborted, whenAborted } from "../lib/wait.ts";
import { TimeoutError } from "../wire/errors.ts";
import { type Judged, judgeAnswer, judgeSilence } from "./answer.ts";
import { isFile, openDownload } from "./download.ts";
import { runIntercepted } from "./interceptors.ts";
import type { Credentials } from "./principal.ts";
import { reportProgress } from "./progress.ts";
import { readTunnelled } from "./request.ts";
import type { Run } from "./run.ts";
import { countBytes, sendByXhr } from "./upload.ts";

/** How fast an upload has to be where its progress cannot be seen, in bytes per millisecond. */
const uploadSpeedMin = 16_384 / 1000;

/**
 * Sends a request once.
 *
 * @param added the headers of the app @param attempt from 1 on
 * @throws the reason of `stop`, once that is aborted
 */
export async function attemptOnce(
  run: Run,
  { root }: Credentials,
  authorization: string | undefined,
  added: Headers,
  attempt: number,
): Promise<Judged> {
  const { call, options, request, repeatability, stop, shared } = run;
  const { operation, path } = call;
  const { clock, timeouts, interceptors } = shared;
  const { method, key, contentType, length = 0 } = request;
  const end = new AbortController();
  const endLate = () => end.abort(new TimeoutError("the time of the attempt is up", "attempt"));
  const attemptMs = operation.hasFile ? timeouts.stallMs + length / uploadSpeedMin : timeouts.attemptMs;
  let cancelTimer = clock.after(attemptMs, endLate);
  const release = whenAborted([stop], () => end.abort(stop.reason));

  async function send(headers: Headers): Promise<Response> {
    const sent = new Headers(headers);
    sent.delete("Authorization");
    if (authorization !== undefined) sent.set("Authorization", authorization);
    if (key !== undefined) sent.set("Idempotency-Key", key);
    if (contentType !== undefined) sent.set("Content-Type", contentType);
    return sendRequest(run, `${root}${request.path}${request.query ?? ""}`, sent, end.signal, () => {
      cancelTimer();
      cancelTimer = clock.after(timeouts.stallMs, endLate);
    });
  }

  function sendIntercepted(): Promise<Response> {
    const headers = new Headers(added);
    if (authorization !== undefined) headers.set("Authorization", "[secret]");
    const wrappers = [...interceptors].map((interceptor) => interceptor.attempt);
    const seen = { operation, method, path, headers, context: options.context, attempt };
    return runIntercepted(wrappers, seen, () => send(headers));
  }

  async function exchange(): Promise<Judged> {
    const response = await (interceptors.size > 0 ? sendIntercepted() : send(added));
    if (operation.isDownload && isFile(response)) {
      const result = openDownload(response, run, () => end.abort());
      return { isSuccess: true, status: response.status, requestId: "", replayed: false, result };
    }
    const text = await response.text();
    return judgeAnswer(repeatability, response, request.isTunnelled ? readTunnelled(text) : text);
  }

  try {
    return await unlessAborted(exchange(), end.signal);
  } catch (error) {
    stop.throwIfAborted();
    return judgeSilence(repeatability, error);
  } finally {
    cancelTimer();
    release();
  }
}

/** @param moved called when bytes of an upload have been sent */
function sendRequest(
  { call, options, request: { method, length, body: source }, shared }: Run,
  url: string,
  headers: Headers,
  signal: AbortSignal,
  moved: () => void,
): Promise<Response> {
  const ownFetch = shared.options.fetch;
  let body = typeof source === "function" ? source() : source;
  if (options.onProgress !== undefined && body !== undefined && typeof body !== "string") {
    const report = reportProgress(options.onProgress, length, shared.clock);
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
