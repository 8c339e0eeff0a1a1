import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createSpool } from "./spool.ts";

describe("a spool", () => {
  it("gives back what it was given, in order, and leaves no file however the process ends", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const { TMPDIR = "/tmp" } = process.env;
    process.env["TMPDIR"] = folder;
    t.after(() => {
      process.env["TMPDIR"] = TMPDIR;
      rmSync(folder, { recursive: true });
    });
    const spool = await createSpool<{ readonly n: number; readonly text: string }>();
    const given = Array.from({ length: 2_000 }, (_, n) => ({ n, text: "x\n".repeat(50) }));
    for (const item of given) await spool.add(item);
    assert.deepEqual(readdirSync(folder), []);
    assert.deepEqual(await Array.fromAsync(spool.items()), given);
    await spool.close();
  });
});
