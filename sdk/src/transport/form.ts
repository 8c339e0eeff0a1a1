import { newUuid } from "../lib/uuid.ts";
import type { OpenableSource, Source } from "../wire/source.ts";

export interface Form {
  readonly contentType: string;
  /** The size of the body, in bytes. */
  readonly length: number;
  readonly body: () => Blob | ReadableStream<Uint8Array>;
}

/** A multipart body of the fields, as JSON, before the file. Its bytes are the same each time it is opened. */
export function buildForm(source: Source, fields: string): Form {
  const boundary = newUuid();
  const isBytes = source instanceof ArrayBuffer || ArrayBuffer.isView(source);
  // Its types know bytes of memory that threads share, which no runtime puts into a source.
  const file = isBytes ? new Blob([source as ArrayBuffer]) : source;
  const isBlob = file instanceof Blob;
  const { name = "file", type, open } = Object(file) as Partial<OpenableSource>;
  if (!isBlob && typeof open !== "function") throw new Error("data must be a Blob, bytes, or a source with open()");
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="`;
  const quoted = name.replace(/["\r\n]/g, encodeURIComponent);
  const head = `${part}body"\r\nContent-Type: application/json\r\n\r\n${fields}\r\n${part}data"; filename="${quoted}"\r\nContent-Type: ${type || "application/octet-stream"}\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: new Blob([head, tail]).size + (isBlob ? file.size : file.length),
    body: () => (isBlob ? new Blob([head, file, tail]) : join([toStream(head), file.open(), toStream(tail)])),
  };
}

function toStream(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream();
}

/** Concatenates streams. If one fails, the result fails, and with it the request. */
function join(streams: readonly ReadableStream<Uint8Array>[]): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const write = async () => {
    for (const stream of streams) await stream.pipeTo(writable, { preventClose: true });
    await writable.close();
  };
  write().catch(() => {});
  return readable;
}
