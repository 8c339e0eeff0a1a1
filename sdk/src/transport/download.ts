import type { Clock } from "../lib/clock.ts";
import type { AnyCall } from "../wire/call.ts";
import type { Download } from "../wire/download.ts";
import { ConnectionError, describeCall, RollcallError } from "../wire/errors.ts";
import type { Limits } from "./limits.ts";
import type { CallOptions } from "./options.ts";
import { reportProgress } from "./progress.ts";

/** The details of the call that a download needs. */
interface DownloadCall {
  readonly call: AnyCall;
  readonly options: CallOptions;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly stallMs: number;
  /** Aborts the request. */
  readonly end: () => void;
}

/** Whether a response has the bytes of a file rather than an envelope. */
export function isFile({ ok, headers }: Response): boolean {
  // The service marks its files; a page without the mark is that of a captive portal.
  return ok && (headers.has("content-disposition") || !/html/.test(headers.get("content-type") ?? ""));
}

/** Streams the bytes of a response, and fails if the body is incomplete. */
export function openDownload(
  response: Response,
  { call, options: { signal, onProgress }, clock, limits, stallMs, end }: DownloadCall,
): Download {
  const { headers } = response;
  const length = headers.get("content-length");
  const type = headers.get("content-type") ?? "application/octet-stream";
  // An encoding changes the number of bytes.
  const total = length && !headers.has("content-encoding") ? Number(length) : undefined;
  const details = { call: describeCall(call), attempts: 1, isRetryable: true };

  function stream(): ReadableStream<Uint8Array> {
    // By its response: Node.js empties the body of one that has been collected as garbage.
    const reader = (response.body ?? new Blob().stream()).getReader();
    const report = reportProgress(onProgress, total, clock);
    let done = 0;
    const source: UnderlyingDefaultSource<Uint8Array> = {
      async pull(controller) {
        try {
          const read = () => reader.read();
          const { value } = await limits.run(stallMs, "stalled", signal, () => details, read);
          if (value) {
            done += value.byteLength;
            report(done);
            controller.enqueue(value);
            return;
          }
          if (total !== undefined && done !== total) throw new Error(`${done} of ${total} bytes`);
          controller.close();
        } catch (cause) {
          const isOwn = cause instanceof RollcallError;
          controller.error(isOwn ? cause : new ConnectionError("the download has ended early", { ...details, cause }));
        }
        end();
      },
      cancel: end,
    };
    return new ReadableStream(source, { highWaterMark: 0 });
  }

  /** Not through a Response, because Chromium replaces the error of a failed stream. */
  async function blob(): Promise<Blob> {
    const parts: BlobPart[] = [];
    const reader = stream().getReader();
    for (;;) {
      const { value } = await reader.read();
      if (!value) return new Blob(parts, { type });
      parts.push(value as Uint8Array<ArrayBuffer>);
    }
  }

  return { contentType: type, contentLength: total, stream, blob, text: async () => (await blob()).text() };
}
