// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { FileBytes } from "./folder-store.ts";

let folder: string;
let path: string;
const content = randomBytes(16_000_001);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "rollcall-file-bytes-"));
  path = join(folder, "file");
  await writeFile(path, content);
});
after(() => rm(folder, { recursive: true }));

async function read(start: number, end: number): Promise<FileBytes> {
  return new FileBytes(await open(path), start, end);
}

/** Starts a reader that takes this time, on a simulated clock, for each piece. */
async function startReader(msPerPiece: number) {
  let now = 0;
  const bytes = new FileBytes(await open(path), 0, content.length, () => now);
  const pieces = bytes[Symbol.asyncIterator]();
  return {
    bytes,
    /** Returns the lengths of the next pieces, up to the one for which `isLast` is true. */
    async take(isLast: (length: number, count: number) => boolean): Promise<number[]> {
      const lengths: number[] = [];
      for (;;) {
        const piece = await pieces.next();
        if (piece.done) return lengths;
        now += msPerPiece;
        lengths.push(piece.value.length);
        if (isLast(piece.value.length, lengths.length)) return lengths;
      }
    },
  };
}

describe("the bytes of an open file", () => {
  it("are those from start to end, up to the current end of a truncated file", async () => {
    for (const [start, end] of [
      [0, content.length],
      [1, 2],
      [65_535, 65_537],
      [15_999_000, content.length],
      [5, 5],
      [15_999_000, content.length + 1_000],
    ] as const) {
      assert.ok((await buffer(await read(start, end))).equals(content.subarray(start, end)), `${start}-${end}`);
    }
  });

  it("are sent in large chunks to a fast reader, and in small ones to a slow reader", async () => {
    const fast = await startReader(1);
    assert.equal(Math.max(...(await fast.take(() => false))), 524_288);
    const slow = await startReader(150);
    assert.deepEqual(await slow.take((_, count) => count === 5), Array(5).fill(65_536));
    slow.bytes.destroy();
  });

  it("are sent in large chunks to at most 32 readers at the same time", async () => {
    const readers: FileBytes[] = [];
    for (let number = 0; number < 32; number += 1) {
      const { bytes, take } = await startReader(1);
      readers.push(bytes);
      assert.equal((await take((length) => length > 65_536)).at(-1), 524_288);
    }
    const next = await startReader(1);
    assert.deepEqual([...new Set(await next.take((_, count) => count === 100))], [65_536]);
    for (const bytes of [...readers, next.bytes]) bytes.destroy();
    const later = await startReader(1);
    assert.equal(Math.max(...(await later.take(() => false))), 524_288);
  });

  it("close the file when they are read to the end or abandoned", async () => {
    for (const leave of [false, true]) {
      const file = await open(path);
      const bytes = new FileBytes(file, 0, content.length);
      if (leave) for await (const _ of bytes) break;
      else await buffer(bytes);
      if (!bytes.closed) await new Promise((resolve) => bytes.on("close", resolve));
      assert.equal(file.fd, -1);
    }
  });
});
