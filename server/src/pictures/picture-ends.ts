import type { PictureType } from "../lib/sniffing.ts";

const pngEnd = Buffer.from("\0\0\0\0IEND\xae\x42\x60\x82", "latin1");
const jpegEnd = Buffer.from([0xff, 0xd9]);

/**
 * False when the bytes stop before the format's end marker, which lenient decoders ignore. The decoders of the
 * remaining formats detect a missing end themselves.
 */
export function hasEnd(bytes: Buffer, type: PictureType): boolean {
  if (type === "image/jpeg") return bytes.includes(jpegEnd); // this byte pair does not occur in pixel data
  if (type === "image/png") return bytes.includes(pngEnd);
  if (type === "image/gif") return hasGifTrailer(bytes);
  return true;
}

/** Blocks usually have 255 bytes: more than any picture needs, and scanned in milliseconds. */
const gifBlocksMax = 2_000_000;

/** Skips from block to block without decoding. Data after a header is in blocks that begin with their length. */
function hasGifTrailer(bytes: Buffer): boolean {
  let at = 13 + colourTableBytes(bytes[10]);
  let isWithin = false;
  for (let blocks = 0; blocks < gifBlocksMax && at < bytes.length; blocks += 1) {
    const first = bytes[at] ?? 0;
    if (isWithin) {
      at += 1 + first;
      isWithin = first !== 0; // an empty block is the last one
    } else if (first === 0x3b) {
      return true;
    } else if (first === 0x21 || first === 0x2c) {
      at += first === 0x21 ? 2 : 11 + colourTableBytes(bytes[at + 9]);
      isWithin = true;
    } else {
      return false;
    }
  }
  return false;
}

function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}
