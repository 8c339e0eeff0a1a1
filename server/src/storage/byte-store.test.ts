// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { startS3Server } from "../../test/s3-server.ts";
import { type ByteStore, BytesMissing } from "./byte-store.ts";
import { openByteStore } from "./open.ts";

type StoreConfig = Parameters<typeof openByteStore>[0];

/** A store with a separate folder, and access to its contents from outside. */
interface TestStore {
  readonly config: StoreConfig;
  /** Lists what unfinished writes have left behind. */
  listLeftovers(): string[];
  close(): Promise<void>;
}

const folderConfig = { filesDownload: "stream", awsAccessKeyId: undefined, awsSecretAccessKey: undefined } as const;

async function startFolder(folder: string): Promise<TestStore> {
  return {
    config: { ...folderConfig, filesUrl: pathToFileURL(folder).href },
    listLeftovers: () => readdirSync(join(folder, ".incoming")),
    close: async () => {},
  };
}

async function startS3(folder: string): Promise<TestStore> {
  const { url, keys, listUploads, close } = await startS3Server(folder);
  return {
    config: { filesUrl: `${url}&prefix=rollcall`, filesDownload: "stream", ...keys },
    listLeftovers: listUploads,
    close,
  };
}

const writer = fileURLToPath(new URL("../../test/byte-writer.ts", import.meta.url));
const partBytes = 8_388_608;

for (const [name, start] of [["a folder", startFolder] as const, ["S3", startS3] as const]) {
  describe(`bytes in ${name}`, () => {
    let folder: string;
    let test: TestStore;
    let store: ByteStore;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "rollcall-bytes-"));
      test = await start(folder);
      store = await openByteStore(test.config);
    });
    after(async () => {
      await test.close();
      rmSync(folder, { recursive: true, force: true });
    });

    async function readAll(key: string, range?: { start: number; end: number }): Promise<Buffer> {
      return buffer(await store.read(key, range));
    }
    async function assertMissing(key: string): Promise<void> {
      await assert.rejects(store.read(key), BytesMissing);
    }

    it("are read as they were written, whatever their size", async () => {
      for (const size of [0, 1, 65_535, 65_537, partBytes - 1, partBytes, partBytes + 1, 2 * partBytes + 5]) {
        const bytes = pattern(size);
        await store.write(`app_1/pic_1/${size}`, inChunks(bytes, 300_000));
        assert.ok(bytes.equals(await readAll(`app_1/pic_1/${size}`)), `${size} bytes`);
      }
      assert.deepEqual(test.listLeftovers(), []);
    });

    it("can be read in ranges, up to their end", async () => {
      await store.write("app_1/pic_2/a", inChunks(Buffer.from("0123456789"), 3));
      const ranges: [start: number, end: number, text: string][] = [
        ...([
          [0, 10, "0123456789"],
          [0, 2, "01"], // s3rver treats an end of 0 as none
          [3, 7, "3456"],
          [9, 10, "9"],
        ] as const),
        ...([
          [8, 99, "89"],
          [10, 11, ""],
          [50, 99, ""],
          [4, 4, ""],
          [0, 0, ""],
        ] as const),
      ].map(([from, to, text]) => [from, to, text]);
      for (const [from, to, text] of ranges) {
        assert.equal(String(await readAll("app_1/pic_2/a", { start: from, end: to })), text, `${from} to ${to}`);
      }
    });

    it("have a size while they exist", async () => {
      for (const size of [0, 1, partBytes + 1]) {
        await store.write("app_11/pic_1/a", inChunks(pattern(size), 300_000));
        assert.equal(await store.size("app_11/pic_1/a"), size);
      }
      await store.deleteAll("app_11/pic_1/");
      for (const key of ["app_11/pic_1/a", "app_11/pic_1", "app_11", "app_11/pic_1/a/b"]) {
        assert.equal(await store.size(key), undefined);
      }
    });

    it("are missing under keys that were never written: no key, a prefix of keys, below a key", async () => {
      await store.write("app_1/pic_3/a", inChunks(Buffer.from("a"), 1));
      for (const key of ["app_2/pic_3/a", "app_1/pic_3/b", "app_1/pic_3", "app_1", "app_1/pic_3/a/b"]) {
        await assertMissing(key);
        await assert.rejects(store.read(key, { start: 0, end: 0 }), BytesMissing);
      }
    });

    it("cannot be addressed by keys outside of the store", async () => {
      const long = `${"a/".repeat(500)}a`;
      for (const key of ["", "/", "/etc/passwd", "..", "a/../b", "a/..", "./a", ".incoming/a", "a//b", "a\\b", "a b"]) {
        for (const wrong of [key, `${key}\0`, `${key}\n`, `é${key}`, long]) {
          await assert.rejects(store.write(wrong, inChunks(Buffer.from("a"), 1)), RangeError, wrong);
          await assert.rejects(store.read(wrong), RangeError, wrong);
          await assert.rejects(store.size(wrong), RangeError, wrong);
          await assert.rejects(store.deleteAll(wrong), RangeError, wrong);
        }
      }
    });

    it("are deleted by the prefix of their keys only; a prefix without objects is no error", async () => {
      const keys = ["app_3/pic_1/a", "app_3/pic_1/b", "app_3/pic_10/a", "app_3/pic_2/a", "app_30/pic_1/a"];
      for (const key of keys) await store.write(key, inChunks(Buffer.from(key), 4));
      await store.deleteAll("app_3/pic_1/");
      await store.deleteAll("app_3/pic_1/");
      await assertMissing("app_3/pic_1/a");
      await assertMissing("app_3/pic_1/b");
      for (const key of keys.slice(2)) assert.equal(String(await readAll(key)), key);
      await store.deleteAll("app_3/");
      await assertMissing("app_3/pic_10/a");
      await assertMissing("app_3/pic_2/a");
      assert.equal(String(await readAll("app_30/pic_1/a")), "app_30/pic_1/a");
      await store.deleteAll("app_3");
      await assertMissing("app_30/pic_1/a");
    });

    it("survive an aborted deletion, which can be repeated", async () => {
      const key = "app_9/pic_1/a";
      await store.write(key, inChunks(Buffer.from("a"), 1));
      await assert.rejects(store.deleteAll("app_9/", AbortSignal.abort(new Error("stopping"))), /stopping/);
      assert.equal(String(await readAll(key)), "a");
      await store.deleteAll("app_9/");
      await assertMissing(key);
    });

    it("are deleted by more than a page of their listing", async () => {
      const keys = Array.from({ length: 250 }, (_, i) => `app_4/pic_${i}/a`);
      for (let i = 0; i < keys.length; i += 50) {
        await Promise.all(keys.slice(i, i + 50).map((key) => store.write(key, inChunks(Buffer.from("a"), 1))));
      }
      await store.write("app_4/vid_1/a", inChunks(Buffer.from("other"), 1));
      await store.deleteAll("app_4/pic_");
      for (const key of [...keys.slice(0, 30), ...keys.slice(-30)]) await assertMissing(key);
      assert.equal(String(await readAll("app_4/vid_1/a")), "other");
    });

    it("are replaced completely or not at all", async () => {
      await store.write("app_5/pic_1/a", inChunks(Buffer.from("first and long"), 4));
      await store.write("app_5/pic_1/a", inChunks(Buffer.from("second"), 4));
      assert.equal(String(await readAll("app_5/pic_1/a")), "second");
    });

    it("are not stored when their source fails at any byte, and no temporary file remains", async () => {
      const bytes = pattern(40);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const source = inChunks(bytes.subarray(0, cut), 1, new Error("cut"));
        await assert.rejects(store.write("app_6/pic_1/a", source), /^Error: cut$/);
        await assertMissing("app_6/pic_1/a");
      }
      await assert.rejects(
        store.write("app_6/pic_1/a", inChunks(pattern(20_000_000), 65_536, new Error("cut"))),
        /cut/,
      );
      await assertMissing("app_6/pic_1/a");
      assert.deepEqual(test.listLeftovers(), []);
    });

    it("are not stored when the write is aborted, even while the source is silent", async () => {
      for (const size of [0, 10, 2 * partBytes]) {
        const stopping = new AbortController();
        const silent = silentAfter(pattern(size), () => setTimeout(() => stopping.abort(new Error("enough")), 50));
        const write = store.write("app_6/pic_2/a", silent, { signal: stopping.signal });
        await assert.rejects(write, /^Error: enough$/);
        await assertMissing("app_6/pic_2/a");
      }
      const aborted = AbortSignal.abort(new Error("before"));
      await assert.rejects(store.write("app_6/pic_2/a", inChunks(pattern(9), 1), { signal: aborted }), /before/);
      await assertMissing("app_6/pic_2/a");
      assert.deepEqual(test.listLeftovers(), []);
    });

    it("can be read to the last byte when they are deleted during the read", async () => {
      const bytes = pattern(3_000_000);
      await store.write("app_7/pic_1/a", inChunks(bytes, 65_536));
      const chunks: Buffer[] = [];
      for await (const chunk of await store.read("app_7/pic_1/a")) {
        if (chunks.length === 0) await store.deleteAll("app_7/pic_1/");
        chunks.push(chunk);
      }
      assert.ok(bytes.equals(Buffer.concat(chunks)));
      await assertMissing("app_7/pic_1/a");
    });

    it("can be written while neighbouring objects are deleted", async () => {
      for (let round = 0; round < 20; round++) {
        const writes = [1, 2, 3].map((i) => store.write(`app_8/pic_${i}/a`, inChunks(Buffer.from(`${round}`), 1)));
        await Promise.all([...writes, store.deleteAll("app_8/pic_9/"), store.deleteAll("app_8/pic_1/")]);
        assert.equal(String(await readAll("app_8/pic_2/a")), `${round}`);
        await store.deleteAll("app_8/");
      }
    });

    it("are not stored by a killed process, and its temporary files are deleted when they are old enough", async () => {
      const args = [writer, JSON.stringify(test.config), "write forever", "app_9/vid_1/a"];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      let written = "";
      for await (const text of child.stdout) {
        written += text;
        if (written.split("\n").length > 20) break;
      }
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      await assertMissing("app_9/vid_1/a");
      assert.equal(test.listLeftovers().length, 1);
      await store.cleanUp(60_000);
      assert.equal(test.listLeftovers().length, 1);
      await assert.rejects(store.cleanUp(-1_000, AbortSignal.abort(new Error("stop"))), /stop/);
      await store.cleanUp(-1_000);
      assert.deepEqual(test.listLeftovers(), []);
      await assertMissing("app_9/vid_1/a");
    });

    it("are written with little memory, whatever their size", async () => {
      const args = [writer, JSON.stringify(test.config), "measure", "app_10/vid_1/a"];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { read, grownMib } = JSON.parse(stdout);
      assert.equal(read, 125_829_120);
      assert.ok(grownMib < 100, `${grownMib} MiB`);
    });
  });
}

const longest = Buffer.alloc(20_000_000);
for (let i = 0; i < longest.length; i++) longest[i] = (i * 31 + (i >> 8) * 17 + (i >> 16)) & 0xff;

/** Bytes without any repeated region. */
function pattern(size: number): Buffer {
  return longest.subarray(0, size);
}

/** Yields the bytes in chunks, optionally followed by a failure. */
async function* inChunks(bytes: Buffer, size: number, failure?: Error): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
  if (failure !== undefined) throw failure;
}

async function* silentAfter(bytes: Buffer, onSilence: () => void): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes, 65_536);
  onSilence();
  await new Promise(() => {});
}
