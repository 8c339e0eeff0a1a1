// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBufferFile } from "./buffer-file.ts";

describe("a buffer file", () => {
  it("returns its items in order, and leaves no file behind, even after a kill", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const { TMPDIR = "/tmp" } = process.env;
    process.env["TMPDIR"] = folder;
    t.after(() => {
      process.env["TMPDIR"] = TMPDIR;
      rmSync(folder, { recursive: true });
    });
    const buffer = await createBufferFile<{ readonly n: number; readonly text: string }>();
    const given = Array.from({ length: 2_000 }, (_, n) => ({ n, text: "x\n".repeat(50) }));
    for (const item of given) await buffer.add(item);
    assert.deepEqual(readdirSync(folder), []);
    assert.deepEqual(await Array.fromAsync(buffer.items()), given);
    await buffer.close();
  });

  it("is in the given folder, or in the system's folder for temporary files if that is not writable", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const { TMPDIR = "/tmp" } = process.env;
    t.after(() => {
      process.env["TMPDIR"] = TMPDIR;
      rmSync(folder, { recursive: true });
    });
    process.env["TMPDIR"] = join(folder, "no-such-folder");
    const buffer = await createBufferFile<number>(folder);
    await buffer.add(1);
    assert.deepEqual(await Array.fromAsync(buffer.items()), [1]);
    await buffer.close();
    process.env["TMPDIR"] = folder;
    await (await createBufferFile(join(folder, "no-such-folder"))).close();
  });
});
