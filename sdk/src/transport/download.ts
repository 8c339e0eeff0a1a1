import type { Clock } from "../lib/clock.ts";
import type { AnyCall } from "../wire/call.ts";
import type { Download } from "../wire/download.ts";
import { AbortedError, ConnectionError, describeCall, RollcallError, TimeoutError } from "../wire/errors.ts";
import type { CallOptions } from "./options.ts";
import { reportProgress } from "./progress.ts";

interface Transfer {
  readonly call: AnyCall;
  readonly options: CallOptions;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
  /** The longest time without a byte. */
  readonly stallMs: number;
  readonly clock: Clock;
  /** Ends the request. */
  end(): void;
}

/** Whether a response is the bytes of a file rather than an envelope. */
export function isFile(response: Response): boolean {
  return response.status === 200 || response.status === 206;
}

/** The bytes of a response, which end with an error unless all of them have come. */
export function openDownload(response: Response, transfer: Transfer): Download {
  const { headers } = response;
  const length = headers.get("content-length");
  // An encoding changes the number of bytes.
  const contentLength = length === null || headers.has("content-encoding") ? undefined : Number(length);
  const stream = () => checkedStream(response, contentLength, transfer);
  const read = () => new Response(stream());
  return {
    contentType: headers.get("content-type") ?? "application/octet-stream",
    contentLength,
    stream,
    blob: async () => new Blob([await read().arrayBuffer()], { type: headers.get("content-type") ?? "" }),
    text: () => read().text(),
  };
}

function checkedStream(response: Response, total: number | undefined, transfer: Transfer): ReadableStream<Uint8Array> {
  const { call, options, closing, clock, stallMs } = transfer;
  const reader = response.body?.getReader();
  const report = options.onProgress === undefined ? () => {} : reportProgress(options.onProgress, total, clock);
  const { id } = call.operation;
  const details = { call: describeCall(call), attempts: 1, isRetryable: true };
  let done = 0;
  let fail: (error: RollcallError) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const abort = () => {
    const cause = options.signal?.reason ?? closing.reason;
    fail(new AbortedError(`${id}: AbortError: the download was aborted`, { ...details, isRetryable: false, cause }));
  };
  const signals = [closing, ...(options.signal ? [options.signal] : [])];
  for (const signal of signals) {
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
  }
  const release = () => {
    for (const signal of signals) signal.removeEventListener("abort", abort);
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const cancelTimer = clock.after(stallMs, () =>
          fail(new TimeoutError(`${id}: TimeoutError: the download has stalled`, "stalled", details)),
        );
        try {
          const chunk = await Promise.race([reader?.read() ?? { done: true as const, value: undefined }, failed]);
          if (chunk.value !== undefined) {
            done += chunk.value.byteLength;
            report(done);
            controller.enqueue(chunk.value);
          } else if (total !== undefined && done !== total) throw new Error(`${done} of ${total} bytes`);
          else {
            release();
            controller.close();
          }
        } catch (error) {
          release();
          transfer.end();
          const message = `${id}: ConnectionError: the download has ended early`;
          controller.error(
            error instanceof RollcallError ? error : new ConnectionError(message, { ...details, cause: error }),
          );
        } finally {
          cancelTimer();
        }
      },
      cancel() {
        release();
        transfer.end();
      },
    },
    { highWaterMark: 0 },
  );
}
