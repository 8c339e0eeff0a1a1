import { randomBytes } from "node:crypto";
import type { ByteStore } from "../storage/byte-store.ts";
import type { Segment } from "./files.resumable.store.ts";

const segmentBytesMin = 8_388_608;
const wholeSegmentsMax = 1_000;
/** So long one takes to be written at most, and with it whatever is lost when the process is killed. */
const segmentMs = 300_000;

/** So large a segment becomes: 8 MiB, or what makes a thousand of a file of this length. */
export function segmentBytesOf(length: number): number {
  return Math.max(segmentBytesMin, Math.ceil(length / wholeSegmentsMax));
}

/**
 * Writes bytes as they arrive into segments, an object each. What a segment has when they end is kept, so that they may end
 * anywhere. Never holds more than a chunk.
 *
 * @param prefix what the keys of the objects begin with
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
