import { createReadStream, statSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import type { OpenableSource } from "../../wire/source.ts";

/**
 * Names a file of this machine as the source of an upload.
 *
 * @throws the error of the file system if the file does not exist
 */
export function fileSource(file: string, { type }: { readonly type?: string } = {}): OpenableSource {
  const found = statSync(file);
  if (!found.isFile()) throw new TypeError(`fileSource: ${file} is no file`);
  return {
    open: () => Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>,
    length: found.size,
    name: path.basename(file),
    ...(type !== undefined && { type }),
  };
}
