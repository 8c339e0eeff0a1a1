// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
chmodSync(folder, 0o755); // readable for another user
after(() => rmSync(folder, { recursive: true, force: true }));

/** An unprivileged user, if the tests run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const isUserAble = spawnSync(process.execPath, ["--version"], { ...user, cwd: folder }).status === 0;

let checkout: string;
let bundles: string;
beforeEach(() => {
  checkout = mkdtempSync(join(folder, "checkout-"));
  chmodSync(checkout, 0o755);
  bundles = join(checkout, "server/.bundle");
  for (const name of ["package.json", "scripts", "server/bin", "server/package.json"]) {
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  }
  // Small programs, because bundling the server takes seconds.
  const positions = "server/src/lib/source-positions.ts";
  cpSync(join(root, positions), join(checkout, positions));
  writeSource("main.ts", "");
  writeSource("pictures/decoder-process.ts", "");
  writeSource("pictures/heic-worker.ts", "");
  writeVersion("1");
  mkdirSync(join(checkout, "node_modules"));
  symlinkSync(join(root, "node_modules/esbuild"), join(checkout, "node_modules/esbuild"));
});

function writeSource(name: string, text: string): void {
  mkdirSync(join(checkout, "server/src", name, ".."), { recursive: true });
  writeFileSync(join(checkout, "server/src", name), text);
}

/** Writes a program that prints this version, and whether it runs from a bundle or from sources. */
function writeVersion(version: string): void {
  writeSource("cli/cli.ts", `console.log("${version}", import.meta.url.endsWith(".js") ? "bundle" : "sources");`);
}

/** Runs `rollcall` in the checkout. @returns its output */
async function start(options: { readonly uid?: number; readonly gid?: number } = {}): Promise<string> {
  const env = { PATH: process.env["PATH"] };
  const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, "server/bin/rollcall.mjs")], {
    cwd: folder,
    env,
    ...options,
  });
  return stdout.trim();
}

describe("the bundle of a checkout", () => {
  it("is created by the first start and used by the next", async () => {
    assert.equal(await start(), "1 bundle");
    const made = readdirSync(bundles);
    assert.equal(made.length, 1);
    assert.equal(await start(), "1 bundle");
    assert.deepEqual(readdirSync(bundles), made);
  });

  it("the next start runs a changed source", async () => {
    await start();
    writeVersion("the changed version");
    assert.equal(await start(), "the changed version bundle");
    assert.equal(readdirSync(bundles).length, 2);
  });

  it("three concurrent starts create one complete bundle", async () => {
    const outputs = await Promise.all([start(), start(), start()]);
    assert.deepEqual(new Set(outputs), new Set(["1 bundle"]));
    assert.equal(readdirSync(bundles).length, 1);
    assert.equal(await start(), "1 bundle");
  });

  it("only the newest bundles are retained", async () => {
    await start();
    for (let number = 0; number < 10; number += 1) mkdirSync(join(bundles, `older-${number}`));
    writeVersion("2");
    await start();
    assert.equal(readdirSync(bundles).length, 5);
    assert.ok(readdirSync(bundles).some((name) => existsSync(join(bundles, name, "cli.js"))));
  });

  it("without a bundler or a writable folder, the sources run", async () => {
    rmSync(join(checkout, "node_modules/esbuild"));
    assert.equal(await start(), "1 sources");
    assert.deepEqual(readdirSync(bundles), []);

    symlinkSync(join(root, "node_modules/esbuild"), join(checkout, "node_modules/esbuild"));
    rmSync(bundles, { recursive: true });
    writeFileSync(bundles, "a file in the place of the folder");
    assert.equal(await start(), "1 sources");
  });

  it("a start caches compiled code, readable only for this user", async () => {
    await start();
    const [bundle = ""] = readdirSync(bundles);
    const caches = readdirSync(join(bundles, bundle, "compiled"));
    assert.equal(caches.length, 1);
    assert.match(caches[0] ?? "", new RegExp(`^${RegExp.escape(process.version)}-.*-${process.getuid?.() ?? ""}$`));
  });

  it("starts for another user without write access", {
    skip: !isUserAble && "no other user can run Node.js",
  }, async () => {
    await start();
    const [name = ""] = readdirSync(bundles);
    const bundle = join(bundles, name);
    assert.equal(statSync(bundle).mode & 0o777, 0o777 & ~process.umask());
    chmodSync(bundle, 0o555);
    chmodSync(bundles, 0o555);
    chmodSync(join(bundle, "compiled"), 0o555);
    assert.equal(await start(user), "1 bundle");
    chmodSync(bundle, 0); // like a bundle that was created with another umask
    assert.equal(await start(user), "1 sources");
    chmodSync(bundles, 0);
    assert.equal(await start(user), "1 sources");
    chmodSync(bundles, 0o755); // for the removal
    chmodSync(bundle, 0o755);
  });

  it("stack traces name the sources", async () => {
    const fails = `import { nameSourcesInStacks } from '../lib/source-positions.ts';
      nameSourcesInStacks();
      if (process.argv.length > 0) throw new Error("on purpose");`;
    writeSource("cli/cli.ts", fails);
    const source = pathToFileURL(join(checkout, "server/src/cli/cli.ts"));
    await assert.rejects(start(), ({ stderr }) => {
      assert.match(stderr, new RegExp(`Error: on purpose\\n +at ${RegExp.escape(`${source}:3:`)}\\d+\\n`));
      return true;
    });
    assert.equal(readdirSync(bundles).length, 1);
  });
});
