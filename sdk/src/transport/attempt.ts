import type { Clock } from "../lib/clock.ts";
import type { AnyCall } from "../wire/call.ts";
import { type Judged, judge, judgeSilence, type Repeatability, readEnvelope } from "./answer.ts";
import { isFile, openDownload } from "./download.ts";
import { exchangeText } from "./exchange-text.ts";
import { type Limits, type Run, timeoutOf } from "./limits.ts";
import type { CallOptions, TransportOptions } from "./options.ts";
import { readTunnelled, type WireRequest } from "./request.ts";
import type { Upload, Uploads } from "./upload.ts";

/** What all attempts of a client have in common. */
export interface AttemptServices {
  readonly options: TransportOptions;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly uploads: Uploads | undefined;
  /** Controllers of attempts that are over, for other attempts: each new one takes as long as the rest of an attempt. */
  readonly spare: Ending[];
}

/** Aborts the request of an attempt. */
interface Ending {
  readonly end: AbortController;
  uses: number;
}

/** In Node.js, the signal holds a listener for each of its requests until garbage collection. */
const usesMax = 8;

/** What all attempts of a call have in common. */
export interface AttemptedCall extends Repeatability {
  readonly call: AnyCall;
  readonly callOptions: CallOptions;
  readonly request: WireRequest;
  /** Headers of the app. */
  readonly added: Headers | undefined;
  /** Reports the progress of an upload, of which no repeat reports less. */
  readonly report: (done: number) => void;
}

/** Runs the interceptors of the app around an attempt. */
export type Around = (headers: Headers, work: (headers: Headers) => Promise<Response>) => Promise<Response>;

/** The speed that an upload needs if its progress cannot be observed, in bytes per millisecond. */
const uploadSpeedMin = 16_384 / 1000;

/** Sends a request once. Resolves early when the run is aborted. */
export function attemptOnce(
  { options, clock, limits, uploads, spare }: AttemptServices,
  attempted: AttemptedCall,
  root: string,
  authorization: string | undefined,
  around: Around | false,
  run: Run,
): Promise<Judged> {
  const { call, callOptions, request, added, report } = attempted;
  const { isDownload, hasFile } = call.operation;
  const { body, contentType, key, length, method, path, query = "" } = request;
  const { onProgress } = callOptions;
  const { attemptMs = 30_000, stallMs = 60_000 } = options.timeouts ?? {};
  const ending = spare.pop() ?? { end: new AbortController(), uses: 0 };
  const { end } = ending;

  function exchange(headers: Headers | undefined): Promise<Response> {
    headers?.delete("authorization");
    const sent: Record<string, string> = headers ? Object.fromEntries(headers) : {};
    if (authorization) sent["authorization"] = authorization;
    if (key !== undefined) sent["idempotency-key"] = key;
    if (contentType) sent["content-type"] = contentType;
    const url = root + path + query;
    const isForm = typeof body === "function";
    const init = {
      method,
      headers: sent,
      body: isForm ? body() : body,
      signal: end.signal,
      credentials: "omit",
      // A proxy wrote the answer of an API that is a redirect; a store may send a file from elsewhere.
      redirect: isDownload ? "follow" : "manual",
      ...(isForm && { duplex: "half" }),
    };
    if (!isForm || !uploads)
      return (options.fetch ?? (exchangeText && !headers && !isForm && !isDownload ? exchangeText : fetch))(
        url,
        init as RequestInit,
      );
    const moved = (done: number) => {
      restart();
      report(done);
    };
    return uploads.send(url, init as Upload, onProgress && moved, options.fetch);
  }

  async function work(): Promise<Judged> {
    const response = await (around ? around(new Headers(added), exchange) : exchange(added));
    if (isDownload && isFile(response)) {
      const transfer = { call, options: callOptions, clock, limits, stallMs, end: () => end.abort() };
      return { status: response.status, headers: response.headers, result: openDownload(response, transfer) };
    }
    const text = await response.text();
    isWhole = !around; // an interceptor may have sent other requests
    const envelope = readEnvelope(text);
    return judge(attempted, request.isTunnelled ? readTunnelled(envelope) : envelope, response, text);
  }

  let cancelTimer = () => {};
  let isWhole = false;
  let isOver = false;
  let settle: (judged: Judged) => void;
  const fail = (cause?: unknown) => settle(judgeSilence(attempted, root, cause));
  const endLate = () => {
    end.abort();
    settle({ ...judgeSilence(attempted, root), fail: (details) => timeoutOf("attempt", details) });
  };
  const restart = () => {
    cancelTimer();
    if (!isOver) cancelTimer = clock.after(stallMs, endLate);
  };

  return new Promise((resolve) => {
    settle = (judged) => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      ending.uses += 1;
      if (isWhole && !end.signal.aborted && ending.uses < usesMax) spare.push(ending);
      resolve(judged);
    };
    cancelTimer = clock.after(hasFile ? stallMs + (length ?? 0) / uploadSpeedMin : attemptMs, endLate);
    run.wake = () => {
      if (isOver) return; // another attempt may have the controller
      end.abort();
      fail();
    };
    work().then(settle, fail);
  });
}
