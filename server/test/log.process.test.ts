import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { findFreePort } from "../../scripts/free-port.ts";
import { createTestDatabase } from "./databases.ts";
import { send } from "./harness.ts";

/** The program itself, with a standard output that takes nothing. */

let folder: string;
let drop: () => Promise<void>;
let settings: Readonly<Record<string, string>>;
const running = new Set<ChildProcess>();
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const database = await createTestDatabase(folder);
  drop = database.drop;
  settings = { DATA_DIR: folder, DATABASE_URL: database.url, ROLLCALL_SECRET: "a secret for tests" };
});
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
});
after(async () => {
  await drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves when it serves. */
async function start(stdout: "pipe" | number, onSpawn: (child: ChildProcess) => void = () => {}) {
  const port = await findFreePort();
  const env = { PATH: process.env["PATH"], ...settings, PORT: `${port}`, PASSWORD_HASH_MEMORY_KIB: "8" };
  const main = join(import.meta.dirname, "../src/main.ts");
  const child = spawn(process.execPath, [main], { env, stdio: ["ignore", stdout, "inherit"] });
  running.add(child);
  const exited = once(child, "exit").finally(() => running.delete(child));
  onSpawn(child);
  const until = Date.now() + 20_000;
  const isServed = () => send(port, "GET", "/_/health/ready").then(isOk, () => false);
  while (!(await isServed())) {
    assert.ok(Date.now() < until && child.exitCode === null, "it does not serve");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { port, child, exited };
}

function isOk({ status }: { readonly status: number }): boolean {
  return status === 200;
}

describe("a log that cannot be written keeps nobody from being served, nor the process from ending", () => {
  it("to a reader that is gone before the first start has shown its credentials", async () => {
    const { child, exited } = await start("pipe", ({ stdout }) => stdout?.destroy());
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });

  it("to a disk that is full", { skip: process.platform !== "linux" && "needs /dev/full" }, async () => {
    const full = openSync("/dev/full", "w");
    const { port, child, exited } = await start(full, () => closeSync(full));
    for (let calls = 0; calls < 100; calls += 1) assert.ok(isOk(await send(port, "GET", "/service/ping")));
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });

  it("to a reader that stands still", { timeout: 60_000 }, async () => {
    const { port, child, exited } = await start("pipe");
    const path = `/${"x".repeat(8_000)}`; // a line of which is more than 8 KB
    for (let calls = 0; calls < 200; calls += 1) assert.equal((await send(port, "GET", path)).status, 404);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});
