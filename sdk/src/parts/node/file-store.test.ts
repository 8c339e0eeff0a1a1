import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, describe, it } from "node:test";
import { storeRules } from "../../../test/store-rules.ts";
import { fileStore } from "./file-store.ts";

const base = mkdtempSync(path.join(tmpdir(), "rollcall-store-"));
let count = 0;
const newFolder = () => path.join(base, `${++count}`, "store");

describe("fileStore", () => {
  after(() => rmSync(base, { recursive: true, force: true }));

  for (const [title, rule] of Object.entries(storeRules)) it(title, () => rule(fileStore(newFolder())));

  it("stores of one folder share their records, even when they set an absent key concurrently", async () => {
    const folder = newFolder();
    const stores = Array.from({ length: 8 }, () => fileStore(folder));
    const got = await Promise.all(stores.map((store, index) => store.putIfAbsent?.("key", `${index}`)));
    assert.equal(new Set(got).size, 1);
    for (const store of stores) assert.equal(await store.get("key"), got[0]);
  });

  it("the folder has mode 0700, and each record is a separate file of mode 0600", async (t) => {
    if (process.platform === "win32") return t.skip("no modes");
    const folder = newFolder();
    const store = fileStore(folder);
    await store.set("one", "value");
    await store.set("two", "value");
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const names = readdirSync(folder);
    assert.equal(names.length, 2);
    for (const name of names) {
      assert.match(name, /^[0-9a-f]{64}$/);
      assert.equal(statSync(path.join(folder, name)).mode & 0o777, 0o600);
    }
  });

  it("a file that holds no record counts as absent, and can be set again", async () => {
    const folder = newFolder();
    const store = fileStore(folder);
    await store.set("key", "value");
    const [name = ""] = readdirSync(folder);
    for (const text of ["", "{", "[1]", '["key"]', "null"]) {
      writeFileSync(path.join(folder, name), text);
      assert.equal(await store.get("key"), undefined);
      assert.deepEqual(await store.list(""), []);
      assert.equal(await store.putIfAbsent?.("key", "again"), "again");
    }
  });

  it("files that a killed process left half-written are deleted after an hour", async () => {
    const folder = newFolder();
    await fileStore(folder).set("key", "value");
    for (const name of ["old.tmp", "new.tmp"]) writeFileSync(path.join(folder, name), "half");
    const twoHoursAgo = new Date(Date.now() - 7_200_000);
    utimesSync(path.join(folder, "old.tmp"), twoHoursAgo, twoHoursAgo);
    assert.deepEqual(await fileStore(folder).list(""), ["key"]);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".tmp")),
      ["new.tmp"],
    );
  });

  it("rejects when the folder cannot be created", async () => {
    const file = path.join(base, "a file");
    writeFileSync(file, "");
    const store = fileStore(path.join(file, "store"));
    await assert.rejects(async () => store.set("key", "value"));
    await assert.rejects(async () => store.list(""));
  });
});
