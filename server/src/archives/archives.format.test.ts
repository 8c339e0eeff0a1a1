// Runs on one engine: an archive has the same format on both.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { putTogether, splitArchive } from "../../test/forged-archives.ts";
import { fillApplication } from "../../test/full-application.ts";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";
import { loadSecrets } from "../config/server-secret.ts";
import { ArchiveWriter } from "./archive.ts";
import { backUp } from "./backup.ts";
import { ArchiveError, endName, headName, missingName, rowsName } from "./format.ts";
import { loadArchive } from "./load.ts";
import { blockBytes, parseTarHeader, tarHeader } from "./tar.ts";

let test: TestApp;
let archive: Buffer;
before(async () => {
  test = await startTestApp();
  await fillApplication(test);
  const { app, config } = test;
  archive = await buffer(Readable.from(backUp(config, { ...app, secrets: loadSecrets(config) })));
});
after(() => test.close());

/** Yields the bytes in pieces of this size. */
async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

function verify(bytes: Buffer, size = 65_536) {
  return loadArchive(inPieces(bytes, size), {});
}

/** Lists the position and name of each entry. */
function entriesOf(bytes: Buffer): { name: string; start: number; end: number }[] {
  const entries = [];
  for (let start = 0; ; ) {
    const header = parseTarHeader(bytes.subarray(start, start + blockBytes));
    if (header === undefined) return entries;
    const end = start + blockBytes + Math.ceil(header.size / blockBytes) * blockBytes;
    entries.push({ name: header.name, start, end });
    start = end;
  }
}

// spec/deployment#archive-checks
describe("an archive", () => {
  it("can be read in pieces of any size", async () => {
    const { head, end } = await verify(archive);
    assert.deepEqual([head.kind, head.region, end.files, end.missing.lost], ["backup", "main", 4, 0]);
    for (const size of [1, 511, 513, archive.length]) assert.deepEqual(await verify(archive, size), { head, end });
  });

  it("is refused if any single bit is flipped", async () => {
    const step = Math.max(1, Math.floor(archive.length / rounds(400))) | 1;
    for (let at = 0; at < archive.length; at += step) {
      const flipped = Buffer.from(archive);
      flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (at % 8)), at);
      await assert.rejects(verify(flipped), ArchiveError, `byte ${at} of ${archive.length}`);
    }
  });

  it("is refused with the name of the changed file", async () => {
    const file = entriesOf(archive).find(({ name }) => name.startsWith("files/"));
    assert.ok(file);
    const changed = Buffer.from(archive);
    changed.writeUInt8(changed.readUInt8(file.start + blockBytes) ^ 1, file.start + blockBytes);
    await assert.rejects(verify(changed), { message: `The archive is damaged: ${file.name}` });
  });

  it("is refused if it is truncated, continues after its end, or is another file", async () => {
    for (let length = 0; length < archive.length; length += Math.floor(archive.length / rounds(100))) {
      await assert.rejects(verify(archive.subarray(0, length)), ArchiveError, `${length} of ${archive.length}`);
    }
    await assert.rejects(verify(archive.subarray(0, -1)), ArchiveError);
    await assert.rejects(verify(Buffer.concat([archive, Buffer.alloc(1)])), ArchiveError);
    await assert.rejects(verify(Buffer.alloc(0)), ArchiveError);
    for (const other of ["no archive", "SQLite format 3\0".padEnd(4_096, "x"), "\0".repeat(2_048)]) {
      await assert.rejects(verify(Buffer.from(other)), ArchiveError, other.slice(0, 20));
    }
  });

  it("is refused if an entry is missing, repeated or out of order", async () => {
    const entries = entriesOf(archive);
    assert.ok(entries.length > 20);
    for (const [index, { name, start, end }] of entries.entries()) {
      const without = Buffer.concat([archive.subarray(0, start), archive.subarray(end)]);
      await assert.rejects(verify(without), ArchiveError, `without ${name}`);
      const twice = Buffer.concat([archive.subarray(0, end), archive.subarray(start)]);
      await assert.rejects(verify(twice), ArchiveError, `${name} twice`);
      const next = entries[index + 1];
      if (next === undefined) continue;
      const [first, second] = [archive.subarray(start, end), archive.subarray(next.start, next.end)];
      if (first.equals(second)) continue;
      const swapped = Buffer.concat([archive.subarray(0, start), second, first, archive.subarray(next.end)]);
      await assert.rejects(verify(swapped), ArchiveError, `${next.name} before ${name}`);
    }
  });

  it("is refused before it exhausts memory: with too many rows, a huge row, or entries without digests", async () => {
    const begun = () => archive.subarray(0, entriesOf(archive)[0]?.end);
    async function* holding(rows: Buffer) {
      yield begun();
      yield* new ArchiveWriter().entry(rowsName("users", 1), rows);
    }
    const countless = holding(gzipSync("{}\n".repeat(1_000_000)));
    await assert.rejects(loadArchive(countless, {}), /more rows than the format allows/);
    const huge = holding(gzipSync(`{"a":"${"a".repeat(2_000_000)}"}\n`));
    await assert.rejects(loadArchive(huge, { partBytesMax: 1_000_000 }), /cannot be unpacked/);

    let read = 0;
    async function* endless() {
      yield begun();
      for (; read < 10_000; read += 1) yield tarHeader(missingName(1), 0);
    }
    await assert.rejects(loadArchive(endless(), {}), ArchiveError);
    assert.ok(read < 1_000, `${read}`);
  });

  it("is read in bounded memory, even with a million rows of one table", async () => {
    const { head, end: totals } = await splitArchive(inPieces(archive, 65_536));
    const line = (index: number) => `${JSON.stringify({ application_id: "app", object_id: `chk_${index}` })}\n`;
    const lines = Array.from({ length: 5_000 }, (_, index) => line(index)).join("");
    const content = gzipSync(lines, { level: 1 });
    const parts = rounds(200);
    function* entries() {
      for (let part = 1; part <= parts; part += 1) yield { name: rowsName("unfinished_erasures", part), content };
    }
    const usedBefore = process.memoryUsage().rss;
    let peak = 0;
    const { end } = await loadArchive(Readable.from(putTogether({ head, entries: entries(), end: totals })), {
      async rows() {
        peak = Math.max(peak, process.memoryUsage().rss);
      },
    });
    assert.equal(end.rows["unfinished_erasures"], parts * 5_000);
    assert.ok(peak - usedBefore < 300_000_000, `${peak - usedBefore}`);
  });

  it("is refused if its end has no counts", async () => {
    const writer = new ArchiveWriter();
    const head = archive.subarray(
      blockBytes,
      blockBytes + Number(parseTarHeader(archive.subarray(0, blockBytes))?.size),
    );
    const pieces = [...writer.entry(headName, head), ...writer.entry(endName, Buffer.from("{}")), ...writer.end()];
    await assert.rejects(verify(Buffer.concat(pieces)), ArchiveError);
  });

  it("supports names and sizes beyond the original tar format", () => {
    for (const size of [0, 1, 8_589_934_591, 8_589_934_592, 2 ** 52]) {
      for (const name of ["a", `files/${"x".repeat(94)}`, `files/${"y".repeat(80)}/${"z".repeat(90)}`]) {
        assert.deepEqual(parseTarHeader(tarHeader(name, size)), { name, size });
      }
    }
    for (const name of ["", "/a", "../a", "a/../b", "a//b", ".a", "ä", "a\0", "x".repeat(101)]) {
      assert.throws(() => tarHeader(name, 1), RangeError, name);
    }
  });
});
