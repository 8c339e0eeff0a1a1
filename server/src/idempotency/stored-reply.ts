import { promisify } from "node:util";
import { nodeZlib } from "../lib/node-zlib.ts";
import type { Sealer } from "../lib/seal.ts";

/** Shorter responses, which most are, would not shrink enough to be worth the time. */
const compressedFrom = 1_024;
/**
 * Longer responses are compressed on another thread. Shorter ones are not, because their transaction would wait for a
 * thread.
 */
const compressedInPlaceMax = 65_536;
/** The first byte identifies the format: JSON begins with a brace, which a zlib stream never does. */
const brace = 0x7b;

/** The text of a response to store: sealed, because it may hold tokens, after compressing it if it is long. */
export async function sealReply(json: string, context: string, sealer: Sealer): Promise<string> {
  return sealer.seal(json.length < compressedFrom ? json : await compress(json), context);
}

function compress(json: string): Uint8Array | Promise<Uint8Array> {
  const fastest = { level: 1 };
  return json.length > compressedInPlaceMax
    ? promisify(nodeZlib().deflate)(json, fastest)
    : nodeZlib().deflateSync(json, fastest);
}

/** @returns undefined when the secret under which it was sealed has been rotated out */
export async function openReply(sealed: string, context: string, sealer: Sealer): Promise<string | undefined> {
  const bytes = sealer.openBytes(sealed, context);
  if (bytes === undefined) return undefined;
  return (bytes[0] === brace ? bytes : await promisify(nodeZlib().inflate)(bytes)).toString("utf8");
}
