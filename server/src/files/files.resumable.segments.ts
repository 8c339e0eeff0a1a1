import { randomBytes } from "node:crypto";
import type { ByteStore } from "../storage/byte-store.ts";
import type { Segment } from "./files.resumable.store.ts";

const segmentBytesMin = 8_388_608;
const wholeSegmentsMax = 1_000;
/** The longest time that one segment is written, which bounds what a killed process loses. */
const segmentMs = 300_000;

/** The size of a segment: 8 MiB, or a thousandth of the length if that is more. */
export function segmentBytesOf(length: number): number {
  return Math.max(segmentBytesMin, Math.ceil(length / wholeSegmentsMax));
}

/**
 * Writes arriving bytes into segments, each an object of its own. A source that ends early keeps the partial segment.
 * Buffers at most one chunk.
 *
 * @param prefix the key prefix of the objects
 * @yields segments that are on disk
 */
export async function* writeSegments(
  chunks: AsyncIterable<Uint8Array>,
  prefix: string,
  segmentBytes: number,
  bytes: ByteStore,
): AsyncGenerator<Segment> {
  const source = chunks[Symbol.asyncIterator]();
  let pending: Uint8Array = new Uint8Array();
  async function isMore(): Promise<boolean> {
    while (pending.length === 0) {
      const { done, value } = await source.next();
      if (done === true) return false;
      pending = value;
    }
    return true;
  }

  while (await isMore()) {
    const startedAt = performance.now();
    let length = 0;
    const segment = async function* (): AsyncGenerator<Uint8Array> {
      while (length < segmentBytes && performance.now() - startedAt < segmentMs && (await isMore())) {
        const taken = pending.subarray(0, segmentBytes - length);
        pending = pending.subarray(taken.length);
        length += taken.length;
        yield taken;
      }
    };
    const key = `${prefix}${randomBytes(12).toString("hex")}`;
    await bytes.write(key, segment());
    yield { key, length };
  }
}
