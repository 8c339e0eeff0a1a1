// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { build, version } from "../src/config/version.ts";
import { noEnvFile } from "./running-server.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const run = promisify(execFile);
const env = { PATH: process.env["PATH"], HOME: folder };

describe("the command of a clone", () => {
  it("node scripts/rollcall.mjs works from any folder, on any supported Node.js", async () => {
    for (const node of [process.execPath, "node"]) {
      const { stdout } = await run(node, [join(root, "scripts/rollcall.mjs"), "--version"], { cwd: noEnvFile, env });
      assert.equal(stdout, `${build}\n`);
    }
  });

  it("npx finds it in the clone before any command is linked into node_modules", async () => {
    const clone = join(folder, "clone");
    for (const name of [
      "package.json",
      "package-lock.json",
      "scripts",
      "server/bin",
      "server/src",
      "server/package.json",
    ]) {
      cpSync(join(root, name), join(clone, name), { recursive: true });
    }
    const modules = "node_modules";
    mkdirSync(join(clone, modules));
    // With these settings npx would run the command of the installed workspace.
    const names = readdirSync(join(root, modules)).filter((name) => name !== ".bin" && name !== "rollcall");
    for (const name of names) symlinkSync(join(root, modules, name), join(clone, modules, name));
    for (const args of [["--version"], ["help", "backup"]]) {
      const { stdout } = await run("npx", ["--offline", "rollcall", ...args], { cwd: clone, env });
      assert.match(stdout, args[0] === "help" ? /^Usage: rollcall/ : new RegExp(`^${RegExp.escape(version)}\\n$`));
    }
  });
});
