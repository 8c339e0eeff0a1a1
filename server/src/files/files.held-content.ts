import { Readable } from "node:stream";
import { ApiError } from "../errors.ts";
import type { ByteRange } from "../http/file-result.ts";

/** Of what readers that take their time keep in memory, all of them together. One may have more, while it is alone. */
const heldBytesMax = 134_217_728;
const pieceBytes = 65_536;

let heldBytes = 0;

/**
 * Bytes that stay in memory until their reader has them, or is gone.
 *
 * @throws ApiError ServiceUnavailable when others keep too many there
 */
export function readHeldContent(content: Buffer, { start, end }: ByteRange): Readable {
  if (heldBytes > 0 && heldBytes + content.length > heldBytesMax) {
    throw new ApiError("ServiceUnavailable", "Too many pictures are being sent. Try again.");
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
