import { Stop, unlessStopped } from "../lib/stop.ts";
import { whenAborted } from "../lib/wait.ts";
import type { Download } from "../wire/download.ts";
import { AbortedError, ConnectionError, describeCall, type RollcallError, TimeoutError } from "../wire/errors.ts";
import { reportProgress } from "./progress.ts";
import type { Run } from "./run.ts";

/** Whether a response is the bytes of a file rather than an envelope. */
export function isFile({ ok, headers }: Response): boolean {
  // The service marks its files; a page without the mark is that of a captive portal.
  return ok && (headers.has("content-disposition") || !/html/.test(headers.get("content-type") ?? ""));
}

/**
 * The bytes of a response, which end with an error unless all of them have come.
 *
 * @param end ends the request
 */
export function openDownload(response: Response, run: Run, end: () => void): Download {
  const { headers } = response;
  const length = headers.get("content-length");
  const type = headers.get("content-type");
  // An encoding changes the number of bytes.
  const contentLength = length === null || headers.has("content-encoding") ? undefined : Number(length);
  const stream = () => checkedStream(response, contentLength, run, end);
  const read = () => new Response(stream());
  return {
    contentType: type ?? "application/octet-stream",
    contentLength,
    stream,
    blob: async () => new Blob([await read().arrayBuffer()], { type: type ?? "" }),
    text: () => read().text(),
  };
}

function checkedStream(
  response: Response,
  total: number | undefined,
  { call, options: { signal, onProgress }, shared: { closing, clock, timeouts } }: Run,
  end: () => void,
): ReadableStream<Uint8Array> {
  const reader = (response.body ?? new Blob().stream()).getReader();
  const report = onProgress === undefined ? () => {} : reportProgress(onProgress, total, clock);
  const details = { call: describeCall(call), attempts: 1, isRetryable: true };
  const stop = new Stop();
  let problem: RollcallError | undefined;
  let done = 0;

  function fail(error: RollcallError): void {
    problem ??= error;
    stop.stop();
  }

  function onAbort(): void {
    const cause = signal?.reason;
    fail(new AbortedError("the download was aborted", { ...details, isRetryable: false, cause }));
  }

  function finish(): void {
    closing.remove(onAbort);
    release();
    end();
  }

  const release = whenAborted(signal, onAbort);
  closing.add(onAbort);

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const cancelTimer = clock.after(timeouts.stallMs, () =>
          fail(new TimeoutError("the download has stalled", "stalled", details)),
        );
        try {
          const { value } = await unlessStopped(reader.read(), stop);
          if (value !== undefined) {
            done += value.byteLength;
            report(done);
            controller.enqueue(value);
          } else if (total !== undefined && done !== total) throw new Error(`${done} of ${total} bytes`);
          else {
            finish();
            controller.close();
          }
        } catch (cause) {
          finish();
          controller.error(problem ?? new ConnectionError("the download has ended early", { ...details, cause }));
        } finally {
          cancelTimer();
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}
