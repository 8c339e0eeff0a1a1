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
 * Sends a request once. Ends with the run, whose owner knows why.
 *
 * @param added the headers of the app, where there are any @param attempt from 1 on
 */
export function attemptOnce(
  run: Run,
  { root }: Credentials,
  authorization: string | undefined,
  added: Headers | undefined,
  attempt: number,
): Promise<Judged> {
  const { call, options, request, repeatability, stop, shared } = run;
  const { operation, path } = call;
  const { clock, timeouts, interceptors } = shared;
  const { method, key, contentType, length = 0 } = request;
  const end = new AbortController();

  function send(headers: Headers | undefined, onMove: () => void): Promise<Response> {
    const url = `${root}${request.path}${request.query ?? ""}`;
    headers?.delete("Authorization");
    const sent: Record<string, string> = headers === undefined ? {} : Object.fromEntries(headers);
    if (authorization !== undefined) sent["authorization"] = authorization;
    if (key !== undefined) sent["idempotency-key"] = key;
    if (contentType !== undefined) sent["content-type"] = contentType;
    return sendRequest(run, url, sent, end.signal, onMove);
  }

  function sendIntercepted(onMove: () => void): Promise<Response> {
    const headers = new Headers(added);
    if (authorization !== undefined) headers.set("Authorization", "[secret]");
    const wrappers = [...interceptors].map((interceptor) => interceptor.attempt);
    const seen = { operation, method, path, headers, context: options.context, attempt };
    return runIntercepted(wrappers, seen, () => send(headers, onMove));
  }

  async function exchange(onMove: () => void): Promise<Judged> {
    const response = await (interceptors.size > 0 ? sendIntercepted(onMove) : send(added, onMove));
    const { status, headers } = response;
    if (operation.isDownload && isFile(response)) {
      const result = openDownload(response, run, () => end.abort());
      return { isSuccess: true, status, headers, requestId: "", replayed: false, result };
    }
    const text = await response.text();
    return judgeAnswer(repeatability, response, request.isTunnelled ? readTunnelled(text) : text);
  }

  return new Promise((resolve) => {
    const fail = (cause: unknown) => settle(judgeSilence(repeatability, cause));
    const endNow = (cause?: TimeoutError) => {
      fail(cause);
      end.abort();
    };
    const endLate = () => endNow(new TimeoutError("the time of the attempt is up", "attempt"));
    const attemptMs = operation.hasFile ? timeouts.stallMs + length / uploadSpeedMin : timeouts.attemptMs;
    let cancelTimer = clock.after(attemptMs, endLate);
    const onStop = () => endNow();

    function settle(judged: Judged): void {
      cancelTimer();
      stop.remove(onStop);
      resolve(judged);
    }

    stop.add(onStop);
    exchange(() => {
      cancelTimer();
      if (!end.signal.aborted) cancelTimer = clock.after(timeouts.stallMs, endLate);
    }).then(settle, fail);
  });
}

/** @param moved called when bytes of an upload have been sent */
function sendRequest(
  { call, options, request: { method, length, body: source }, shared }: Run,
  url: string,
  headers: Readonly<Record<string, string>>,
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
  const init: RequestInit & { duplex?: "half" } = {
    method,
    headers,
    signal,
    credentials: "omit",
    // What an API answers with a redirect was written by a proxy; a store may send a file from elsewhere.
    redirect: call.operation.isDownload ? "follow" : "manual",
  };
  if (body !== undefined) init.body = body;
  if (body instanceof ReadableStream) init.duplex = "half";
  return (ownFetch ?? fetch)(url, init);
}
