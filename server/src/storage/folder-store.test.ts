// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { ApiError } from "../lib/errors.ts";
import { type ByteStore, BytesMissing } from "./byte-store.ts";
import { openFolderStore } from "./folder-store.ts";

describe("the folder store", () => {
  let folder: string;
  let root: string;
  let store: ByteStore;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-folder-"));
    root = join(folder, "new", "files");
    store = await openFolderStore(root);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("is accessible to its own account only", async () => {
    await store.write("app_1/pic_1/a", bytesOf("a"));
    const mode = (...path: string[]) => (statSync(join(root, ...path)).mode & 0o777).toString(8);
    for (const path of ["..", ".", ".incoming", "app_1", "app_1/pic_1"]) assert.equal(mode(path), "700", path);
    assert.equal(mode("app_1/pic_1/a"), "600");
  });

  it("removes empty folders after a deletion, but not its root", async () => {
    await store.write("app_1/pic_1/a", bytesOf("a"));
    await store.write("app_1/pic_2/a", bytesOf("a"));
    await store.deleteAll("app_1/pic_1/");
    assert.deepEqual(readdirSync(join(root, "app_1")), ["pic_2"]);
    await store.deleteAll("app_1/pic_2/");
    assert.deepEqual(readdirSync(root), [".incoming"]);
  });

  it("syncs the bytes, their name and the names of all parent folders to disk", async (t) => {
    const handle = await open(root, "r");
    const sync = t.mock.method(Object.getPrototypeOf(handle) as FileHandle, "sync");
    await handle.close();
    await store.write("app_2/pic_1/a", bytesOf("a"));
    assert.equal(sync.mock.callCount(), 4); // the file, pic_1, app_2, root
  });

  for (const code of ["ENOSPC", "EDQUOT", "EFBIG"]) {
    for (const step of ["write", "sync"] as const) {
      it(`fails with ServiceUnavailable when the disk is full (${code} at ${step}), and no file remains`, async (t) => {
        const handle = await open(root, "r");
        t.mock.method(Object.getPrototypeOf(handle) as FileHandle, step, async () => {
          throw Object.assign(new Error("full"), { code });
        });
        await handle.close();
        await assert.rejects(
          store.write("app_3/pic_1/a", bytesOf("a")),
          (error) => error instanceof ApiError && error.condition === "ServiceUnavailable",
        );
        t.mock.restoreAll();
        await assert.rejects(store.read("app_3/pic_1/a"), BytesMissing);
        assert.deepEqual(readdirSync(join(root, ".incoming")), []);
        await store.write("app_3/pic_1/a", bytesOf("room again"));
        assert.equal(await text(await store.read("app_3/pic_1/a")), "room again");
        await store.deleteAll("app_3/");
      });
    }
  }

  it("deletes the file of a write whose name may not be on disk", async (t) => {
    const handle = await open(root, "r");
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    let calls = 0;
    const sync = prototype.sync;
    t.mock.method(prototype, "sync", async function (this: FileHandle) {
      calls += 1;
      if (calls === 2) throw Object.assign(new Error("broken"), { code: "EIO" }); // the first call syncs the file
      await sync.call(this);
    });
    await assert.rejects(store.write("app_4/pic_1/a", bytesOf("a")), /broken/);
    await assert.rejects(store.read("app_4/pic_1/a"), BytesMissing);
  });
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
