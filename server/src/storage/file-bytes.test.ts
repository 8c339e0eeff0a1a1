// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FileBytes } from "./file-bytes.ts";

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

async function piecesOf(bytes: FileBytes, pauseMs: number, piecesMax: number): Promise<number[]> {
  const lengths: number[] = [];
  for await (const piece of bytes) {
    lengths.push((piece as Buffer).length); // no encoding is set
    if (lengths.length === piecesMax) break;
    if (pauseMs > 0) await sleep(pauseMs);
  }
  return lengths;
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
    assert.equal(Math.max(...(await piecesOf(await read(0, content.length), 0, 500))), 524_288);
    assert.deepEqual(await piecesOf(await read(0, content.length), 150, 5), Array(5).fill(65_536));
  });

  it("are sent in large chunks to at most 32 readers at once", async () => {
    const readers: FileBytes[] = [];
    for (let number = 0; number < 32; number += 1) {
      const bytes = await read(0, content.length);
      readers.push(bytes);
      const pieces = bytes[Symbol.asyncIterator]();
      let piece: IteratorResult<Buffer>;
      do piece = await pieces.next();
      while (!piece.done && piece.value.length <= 65_536);
      assert.equal(piece.done, false, "one alone has been fast enough");
    }
    assert.deepEqual([...new Set(await piecesOf(await read(0, 10_000_000), 0, 100))], [65_536]);
    for (const bytes of readers) bytes.destroy();
    assert.equal(Math.max(...(await piecesOf(await read(0, content.length), 0, 500))), 524_288);
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
