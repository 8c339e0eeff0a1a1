// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { migrate } from "../src/db/migrate.ts";
import { openDatabase } from "../src/db/open.ts";
import { version } from "../src/version.ts";
import { sqliteUrl } from "./databases.ts";
import { noEnvFile, outputOf, programEnvironment, serverEnvironment } from "./running-server.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let checkout: string;
let bundles: string;
beforeEach(() => {
  checkout = mkdtempSync(join(folder, "checkout-"));
  bundles = join(checkout, "server/.bundle");
  for (const name of ["package.json", "scripts", "server/bin", "server/src", "server/package.json"]) {
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  }
  // Not as a whole, so that a test can remove a package.
  mkdirSync(join(checkout, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules"))) {
    symlinkSync(join(root, "node_modules", name), join(checkout, "node_modules", name));
  }
});

/** Runs `rollcall --version` in the checkout. */
function start(settings: Readonly<Record<string, string>> = {}) {
  const args = [join(checkout, "server/bin/rollcall.mjs"), "--version"];
  return promisify(execFile)(process.execPath, args, { cwd: noEnvFile, env: { ...programEnvironment, ...settings } });
}

/** Runs `rollcall serve` in the checkout until it listens. */
async function serve(settings: Readonly<Record<string, string>>): Promise<void> {
  const args = [join(checkout, "server/bin/rollcall.mjs"), "serve"];
  const env = { ...serverEnvironment, PORT: "0", DATA_DIR: join(checkout, "data"), ...settings };
  const server = spawn(process.execPath, args, { cwd: noEnvFile, env, stdio: ["ignore", "pipe", "inherit"] });
  const output = outputOf(server);
  const exited = once(server, "exit");
  while (!output().includes('"listening"') && server.exitCode === null) {
    await Promise.race([once(server.stdout, "data"), exited]);
  }
  server.kill();
  assert.deepEqual(await exited, [0, null], output());
}

/** The compiled functions that starts have kept for others: the name, time and size of each file. */
function keptFunctions() {
  const kept = readdirSync(bundles).map((bundle) => join(bundles, bundle, "compiled"));
  return kept.filter(existsSync).flatMap((compiled) =>
    readdirSync(compiled).map((name) => {
      const { mtimeMs, size } = statSync(join(compiled, name));
      return { file: join(compiled, name), mtimeMs, size };
    }),
  );
}

function schemaOf(dataFolder: string): unknown[] {
  const database = new DatabaseSync(join(dataFolder, "rollcall.db"), { readOnly: true });
  try {
    return database.prepare("select name, sql from sqlite_schema order by name").all();
  } finally {
    database.close();
  }
}

function replaceInSource(file: string, text: string, replacement: string): void {
  const path = join(checkout, "server/src", file);
  const source = readFileSync(path, "utf8");
  assert.ok(source.includes(text), text);
  writeFileSync(path, source.replace(text, replacement));
}

describe("the bundle of a checkout", () => {
  it("is made by the first start and used by the next", async () => {
    assert.equal((await start()).stdout, `${version}\n`);
    const [bundle = "", ...others] = readdirSync(bundles);
    assert.deepEqual(others, []);
    const files = readdirSync(join(bundles, bundle));
    const program = join(bundles, bundle, files.find((name) => /^cli-\w+\.js$/.test(name)) ?? "");
    writeFileSync(
      program,
      readFileSync(program, "utf8").replace("await runCli(", 'console.log("bundled"); await runCli('),
    );
    assert.equal((await start()).stdout, `bundled\n${version}\n`);
  });

  it("a changed source is served by the next start", async () => {
    await start();
    replaceInSource("version.ts", "manifest.version", '"the changed version"');
    assert.equal((await start()).stdout, "the changed version\n");
    const before = readdirSync(bundles).length;
    assert.equal((await start()).stdout, "the changed version\n");
    assert.deepEqual([before, readdirSync(bundles).length], [2, 2]);
  });

  it("two starts at once make one whole bundle", async () => {
    const runs = await Promise.all([start(), start(), start()]);
    assert.deepEqual(new Set(runs.map(({ stdout }) => stdout)), new Set([`${version}\n`]));
    assert.equal(readdirSync(bundles).length, 1);
    assert.equal((await start()).stdout, `${version}\n`);
  });

  it("the newest bundles are kept", async () => {
    await start();
    for (let number = 0; number < 10; number += 1) mkdirSync(join(bundles, `older-${number}`));
    replaceInSource("version.ts", "manifest.version", '"the changed version"');
    await start();
    assert.equal(readdirSync(bundles).length, 5);
    assert.ok(readdirSync(bundles).some((name) => existsSync(join(bundles, name, "cli.js"))));
  });

  it("without a bundler, and where no bundle can be written, the sources run", async () => {
    rmSync(join(checkout, "node_modules/esbuild"));
    assert.equal((await start()).stdout, `${version}\n`);
    assert.deepEqual(readdirSync(bundles), []);

    symlinkSync(join(root, "node_modules/esbuild"), join(checkout, "node_modules/esbuild"));
    rmSync(bundles, { recursive: true });
    writeFileSync(bundles, "a file in the place of the folder");
    assert.equal((await start()).stdout, `${version}\n`);
  });

  it("the next start takes the functions that a start has compiled", async () => {
    await start();
    const kept = keptFunctions();
    assert.equal(kept.length, 1);
    await start();
    assert.deepEqual(keptFunctions(), kept); // V8 would have rejected those that it could not take, and they would be new
  });

  it("a server and each of its workers take the functions that others have compiled", async () => {
    const workers = { WORKERS: "2" };
    await serve({});
    await serve(workers);
    const kept = keptFunctions();
    assert.equal(kept.length, 1);
    await serve(workers);
    await serve({});
    assert.deepEqual(keptFunctions(), kept);
  });

  it("damaged functions of an earlier start are replaced", async () => {
    await start();
    const [kept] = keptFunctions();
    assert.ok(kept);
    const whole = readFileSync(kept.file);
    const small = Buffer.concat([Buffer.from([12, 0, 0, 0]), Buffer.from('[["a.js",9]]'), Buffer.alloc(9)]);
    for (const damaged of [Buffer.alloc(0), Buffer.alloc(whole.length), whole.subarray(0, whole.length / 2), small]) {
      writeFileSync(kept.file, damaged);
      assert.equal((await start()).stdout, `${version}\n`);
      const replaced = keptFunctions();
      assert.ok((replaced[0]?.size ?? 0) > 0.9 * kept.size);
      await start();
      assert.deepEqual(keptFunctions(), replaced);
    }
  });

  it("an empty database gets the schema that the migrations of the sources create", async () => {
    await serve({});
    const ofSources = join(checkout, "of-sources");
    const database = await openDatabase(sqliteUrl(ofSources), { connectionsMax: 1, timeoutMs: 10_000 });
    await migrate(database);
    await database.close();
    assert.deepEqual(schemaOf(join(checkout, "data")), schemaOf(ofSources));
  });

  it("no functions are kept when NODE_DISABLE_COMPILE_CACHE is set", async () => {
    assert.equal((await start({ NODE_DISABLE_COMPILE_CACHE: "1" })).stdout, `${version}\n`);
    assert.deepEqual(keptFunctions(), []);
  });

  it("stack traces name the sources", async () => {
    const text = "const exitCode = ";
    const line = readFileSync(join(root, "server/src/cli.ts"), "utf8").split(text)[0]?.split("\n").length;
    replaceInSource("cli.ts", text, `if (process.argv.length > 0) throw new Error("on purpose"); ${text}`);
    const source = pathToFileURL(join(checkout, "server/src/cli.ts"));
    await assert.rejects(start(), ({ stderr }) => {
      assert.match(stderr, new RegExp(`Error: on purpose\\n +at ${RegExp.escape(`${source}:${line}:`)}\\d+\\n`));
      return true;
    });
    assert.equal(readdirSync(bundles).length, 1);
  });
});
