import type { Clock } from "../lib/clock.ts";
import type { AnyCall } from "../wire/call.ts";
import { type Judged, judge, judgeSilence, type Repeatability, readEnvelope } from "./answer.ts";
import { isFile, openDownload } from "./download.ts";
import { type Limits, type Run, timeoutOf } from "./limits.ts";
import type { CallOptions, TransportOptions } from "./options.ts";
import { reportProgress } from "./progress.ts";
import { readTunnelled, type WireRequest } from "./request.ts";
import type { Upload, Uploads } from "./upload.ts";

/** What all attempts of a client have in common. */
export interface AttemptServices {
  readonly options: TransportOptions;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly uploads: Uploads | undefined;
}

/** One attempt of a call. */
export interface Attempt {
  readonly call: AnyCall;
  readonly callOptions: CallOptions;
  readonly request: WireRequest;
  readonly repeatability: Repeatability;
  readonly root: string;
  readonly authorization: string | undefined;
  /** Headers of the app. */
  readonly added: Headers | undefined;
  /** Runs the interceptors of the app around the attempt, if there are any. */
  readonly around: ((headers: Headers, work: (headers: Headers) => Promise<Response>) => Promise<Response>) | undefined;
}

/** The speed that an upload needs if its progress cannot be observed, in bytes per millisecond. */
const uploadSpeedMin = 16_384 / 1000;

/** Sends a request once. Resolves early when the run has to end. */
export function attemptOnce(
  { options, clock, limits, uploads }: AttemptServices,
  { call, callOptions, request, repeatability, root, authorization, added, around }: Attempt,
  run: Run,
): Promise<Judged> {
  const { isDownload, hasFile } = call.operation;
  const { onProgress } = callOptions;
  const { attemptMs = 30_000, stallMs = 60_000 } = options.timeouts ?? {};
  const end = new AbortController();

  function exchange(headers: Headers | undefined): Promise<Response> {
    headers?.delete("authorization");
    const sent: Record<string, string> = headers ? Object.fromEntries(headers) : {};
    if (authorization) sent["authorization"] = authorization;
    if (request.key) sent["idempotency-key"] = request.key;
    if (request.contentType) sent["content-type"] = request.contentType;
    const url = root + request.path + (request.query ?? "");
    const isForm = typeof request.body === "function";
    const init = {
      method: request.method,
      headers: sent,
      body: isForm ? request.body() : request.body,
      signal: end.signal,
      credentials: "omit",
      // A proxy wrote the answer of an API that is a redirect; a store may send a file from elsewhere.
      redirect: isDownload ? "follow" : "manual",
      duplex: "half",
    };
    if (!isForm || !uploads || !onProgress) return (options.fetch ?? fetch)(url, init as RequestInit);
    const report = reportProgress(onProgress, request.length, clock);
    const moved = (done: number) => {
      restart();
      report(done);
    };
    return uploads.send(url, init as Upload, moved, options.fetch);
  }

  async function work(): Promise<Judged> {
    const response = await (around ? around(new Headers(added), exchange) : exchange(added));
    if (isDownload && isFile(response)) {
      const transfer = { call, options: callOptions, clock, limits, stallMs, end: () => end.abort() };
      return { status: response.status, headers: response.headers, result: openDownload(response, transfer) };
    }
    const text = await response.text();
    const envelope = readEnvelope(text);
    return judge(repeatability, request.isTunnelled ? readTunnelled(envelope) : envelope, response, text);
  }

  let cancelTimer = () => {};
  let settle: (judged: Judged) => void;
  const fail = (cause?: unknown) => settle(judgeSilence(repeatability, cause));
  const endLate = () => {
    settle({ ...judgeSilence(repeatability), fail: (details) => timeoutOf("attempt", details) });
    end.abort();
  };
  const restart = () => {
    cancelTimer();
    if (!end.signal.aborted) cancelTimer = clock.after(stallMs, endLate);
  };

  return new Promise((resolve) => {
    settle = (judged) => {
      cancelTimer();
      resolve(judged);
    };
    cancelTimer = clock.after(hasFile ? stallMs + (request.length ?? 0) / uploadSpeedMin : attemptMs, endLate);
    run.wake = () => {
      fail();
      end.abort();
    };
    work().then(settle, fail);
  });
}
