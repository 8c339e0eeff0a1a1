// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, it } from "node:test";
import { readZip } from "../../test/zips.ts";
import type { ExportEntry } from "./export.ts";
import { archiveUser } from "./user-archive.ts";

const owner = { applicationId: "app_1", userId: "usr_1" };
const isThere = async () => true;

function archive(entries: readonly ExportEntry[], options: object = {}): Readable {
  return archiveUser(
    owner,
    [
      async function* () {
        yield* entries;
      },
    ],
    { now: 1_436_400_441_000, isThere, ...options },
  );
}

function bytesEntry(name: string, bytes: Readable | undefined): ExportEntry {
  return { name, contentLength: 0, open: async () => bytes };
}

// spec/operators#export-a-user
describe("the archive of a user", () => {
  it("contains every entry, and at its end a manifest that describes them", async () => {
    const zip = await readZip(
      await buffer(
        archive([
          { name: "profile.json", rows: [{ id: 1 }] },
          { name: "nothing.ndjson", rows: [] },
          bytesEntry("files/a", Readable.from([Buffer.from("ab"), Buffer.from("c")])),
          bytesEntry("files/lost", undefined),
          bytesEntry("files/empty", Readable.from([])),
        ]),
      ),
    );
    assert.deepEqual(
      [...zip].slice(0, -1).map(([name, bytes]) => [name, bytes.toString()]),
      [
        ["profile.json", '{"id":1}\n'],
        ["nothing.ndjson", ""],
        ["files/a", "abc"],
        ["files/empty", ""],
      ],
    );
    const none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert.deepEqual(JSON.parse(`${zip.get("manifest.json")}`), {
      format: "rollcall-user-export",
      version: 1,
      application: "app_1",
      user: "usr_1",
      created: "/Date(1436400441000)/",
      counts: { profile: 1, nothing: 0 },
      missing: ["files/lost"],
      entries: [
        {
          name: "profile.json",
          size: 9,
          sha256: "51bc513113548e062ada62b03efea153cae2abdf46b051c551c3e62a4dfb88cf",
        },
        { name: "nothing.ndjson", size: 0, sha256: none },
        { name: "files/a", size: 3, sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { name: "files/empty", size: 0, sha256: none },
      ],
    });
  });

  it("splits rows that would make a file too large", async () => {
    const rows = Array.from({ length: 10 }, (_, n) => ({ n }));
    const zip = await readZip(await buffer(archive([{ name: "rows.ndjson", rows }], { rowsBytesMax: 30 })));
    const names = [...zip.keys()];
    assert.deepEqual(names, ["rows.ndjson", "rows-2.ndjson", "rows-3.ndjson", "manifest.json"]);
    const lines = names.slice(0, -1).flatMap((name) => `${zip.get(name)}`.trim().split("\n"));
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      rows,
    );
    assert.deepEqual(JSON.parse(`${zip.get("manifest.json")}`).counts, { rows: 10 });
  });

  it("produces no more than its reader consumes, however large it becomes", async () => {
    let made = 0;
    async function* much() {
      for (let n = 0; n < 500; n += 1) {
        made += 65_536;
        yield Buffer.alloc(65_536, n);
      }
    }
    let taken = 0;
    for await (const chunk of archive([bytesEntry("files/much", Readable.from(much()))])) {
      taken += chunk.length;
      await new Promise(setImmediate);
      assert.ok(made - taken < 2_000_000, `${made - taken} bytes are waiting`);
    }
    assert.ok(taken >= 500 * 65_536);
  });

  it("closes its sources when its reader stops", async () => {
    let isEnded = false;
    async function* endless() {
      try {
        for (;;) yield { row: "x".repeat(1_000) };
      } finally {
        isEnded = true;
      }
    }
    const source = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(65_536);
      })(),
    );
    for (const entry of [{ name: "rows.ndjson", rows: endless() }, bytesEntry("files/endless", source)]) {
      const output = archive([entry]);
      await once(output, "readable");
      output.destroy();
      await once(output, "close");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(isEnded && source.destroyed);
  });

  it("is aborted when a source fails, or when the user is deleted during the export", async () => {
    const failing = async function* () {
      yield { n: 1 };
      throw new Error("the database is away");
    };
    await assert.rejects(buffer(archive([{ name: "rows.ndjson", rows: failing() }])), /the database is away/);
    const broken = Readable.from(
      (async function* () {
        yield Buffer.from("a");
        throw new Error("the store is away");
      })(),
    );
    await assert.rejects(buffer(archive([bytesEntry("files/a", broken)])), /the store is away/);
    await assert.rejects(buffer(archive([], { isThere: async () => false })), /was deleted/);
  });
});
