import { createReadStream, statSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";

/** A file to upload: read while it is sent, from its beginning at each attempt. */
export interface FileSource {
  open(): ReadableStream<Uint8Array>;
  /** In bytes. */
  readonly length: number;
  readonly name: string;
  readonly type?: string;
}

/**
 * Names a file of this machine as the source of an upload.
 *
 * @throws the error of the file system if there is no such file
 */
export function fileSource(file: string, { type }: { readonly type?: string } = {}): FileSource {
  const found = statSync(file);
  if (!found.isFile()) throw new TypeError(`fileSource: ${file} is no file`);
  return {
    open: () => Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>,
    length: found.size,
    name: path.basename(file),
    ...(type !== undefined && { type }),
  };
}
