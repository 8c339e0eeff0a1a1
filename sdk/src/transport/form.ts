import { newUuid } from "../lib/uuid.ts";
import type { Source } from "../wire/source.ts";

export interface Form {
  readonly contentType: string;
  /** Of the whole body, in bytes. */
  readonly length: number;
  readonly body: () => Blob | ReadableStream<Uint8Array>;
}

/** A multipart body of the fields, as JSON, before the file. Its bytes are the same each time it is opened. */
export function buildForm(source: Source, fields: string): Form {
  const boundary = newUuid();
  const file = source instanceof ArrayBuffer ? new Blob([source]) : source;
  const name = "name" in file && typeof file.name === "string" ? file.name : "file";
  const quoted = name.replace(/["\r\n]/g, encodeURIComponent);
  const head = [
    `--${boundary}\r\nContent-Disposition: form-data; name="body"\r\nContent-Type: application/json\r\n\r\n${fields}\r\n`,
    `--${boundary}\r\nContent-Disposition: form-data; name="data"; filename="${quoted}"\r\n`,
    `Content-Type: ${file.type || "application/octet-stream"}\r\n\r\n`,
  ].join("");
  const tail = `\r\n--${boundary}--\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: new Blob([head, tail]).size + (file instanceof Blob ? file.size : file.length),
    body: () => (file instanceof Blob ? new Blob([head, file, tail]) : joined([head, file.open(), tail])),
  };
}

function joined(parts: readonly (string | ReadableStream<Uint8Array>)[]): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const write = async () => {
    for (const part of parts) {
      const stream = typeof part === "string" ? new Blob([part]).stream() : part;
      await stream.pipeTo(writable, { preventClose: true });
    }
    await writable.close();
  };
  // A source that fails makes the body fail, and with it the request.
  write().catch((error) => writable.abort(error).catch(() => {}));
  return readable;
}
