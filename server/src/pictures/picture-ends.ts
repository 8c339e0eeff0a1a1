import type { PictureType } from "../lib/sniffing.ts";

const pngEnd = Buffer.from("\0\0\0\0IEND\xae\x42\x60\x82", "latin1");
const jpegEnd = Buffer.from([0xff, 0xd9]);

/**
 * False when the bytes stop before the format's own end mark, which decoders that show as much as there is overlook. The
 * formats that are not looked at here have decoders that insist on their end.
 */
export function hasEnd(bytes: Buffer, type: PictureType): boolean {
  if (type === "image/jpeg") return bytes.includes(jpegEnd); // among pixels these two do not occur
  if (type === "image/png") return bytes.includes(pngEnd);
  if (type === "image/gif") return hasGifTrailer(bytes);
  return true;
}

/** Walks from block to block, without decoding any. */
function hasGifTrailer(bytes: Buffer): boolean {
  let at = 13 + colourTableBytes(bytes[10]);
  while (at < bytes.length) {
    const block = bytes[at];
    if (block === 0x3b) return true;
    if (block === 0x21) at = afterSubBlocks(bytes, at + 2);
    else if (block === 0x2c) at = afterSubBlocks(bytes, at + 11 + colourTableBytes(bytes[at + 9]));
    else return false;
  }
  return false;
}

function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}

/** Each begins with its length, and one of length 0 is the last. */
function afterSubBlocks(bytes: Buffer, start: number): number {
  let at = start;
  for (let length = bytes[at]; length !== undefined; length = bytes[at]) {
    at += 1 + length;
    if (length === 0) break;
  }
  return at;
}
