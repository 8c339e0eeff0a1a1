import { Readable } from "node:stream";
import type { ByteRange } from "../contract/file-result.ts";
import { ApiError } from "../lib/errors.ts";

/** Memory for content of slow readers, in all. A single larger one is accepted while it is alone. */
const heldBytesMax = 134_217_728;
const pieceBytes = 65_536;

let heldBytes = 0;

/**
 * Content that stays in memory until its reader has received it or has disconnected.
 *
 * @throws ApiError ServiceUnavailable when other readers hold too much memory
 */
export function readHeldContent(content: Buffer, { start, end }: ByteRange): Readable {
  if (heldBytes > 0 && heldBytes + content.length > heldBytesMax) {
    throw new ApiError("ServiceUnavailable", "Too many pictures are in progress. Try again.");
  }
  function* pieces(): Generator<Buffer> {
    for (let at = start; at < end; at += pieceBytes) yield content.subarray(at, Math.min(end, at + pieceBytes));
  }
  heldBytes += content.length;
  const bytes = Readable.from(pieces(), { objectMode: false, highWaterMark: pieceBytes });
  bytes.once("close", () => {
    heldBytes -= content.length;
  });
  return bytes;
}
