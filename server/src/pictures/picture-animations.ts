import type { PictureType } from "../lib/sniffing.ts";

/**
 * Whether the library decodes only the first frame of this animation: a PNG with an animation chunk, or an AVIF of the
 * brand for sequences.
 */
export function isUnscalableAnimation(bytes: Buffer, type: PictureType): boolean {
  if (type === "image/avif") return bytes.toString("latin1", 8, 12) === "avis";
  if (type !== "image/png") return false;
  for (const { name } of pngChunks(bytes)) {
    if (name === "acTL") return true;
    if (name === "IDAT") return false; // the animation chunk comes before the pixels
  }
  return false;
}

const pngSignatureBytes = 8;
/** The length and the name before the content of a chunk, and the checksum behind it. */
const pngFrameBytes = 12;
/** The chunks that affect the look of a picture; strings, EXIF and times are removed. */
const shownChunks = /^(IHDR|PLTE|IDAT|IEND|tRNS|cHRM|gAMA|iCCP|sBIT|sRGB|cICP|bKGD|pHYs|acTL|fcTL|fdAT)$/;

/** Returns the same PNG with all of its frames, without metadata. */
export function stripPng(bytes: Buffer): Buffer {
  const shown = [...pngChunks(bytes)].filter(({ name }) => shownChunks.test(name));
  return Buffer.concat([bytes.subarray(0, pngSignatureBytes), ...shown.map(({ chunk }) => chunk)]);
}

/** The chunks up to the end mark, or to the first one that is incomplete. */
function* pngChunks(bytes: Buffer): Generator<{ readonly name: string; readonly chunk: Buffer }> {
  for (let at = pngSignatureBytes; at + pngFrameBytes <= bytes.length; ) {
    const end = at + pngFrameBytes + bytes.readUInt32BE(at);
    if (end > bytes.length) return;
    const name = bytes.toString("latin1", at + 4, at + 8);
    yield { name, chunk: bytes.subarray(at, end) };
    if (name === "IEND") return;
    at = end;
  }
}
