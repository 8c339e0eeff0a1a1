// Runs on one engine: it tests what an app installs.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = path.resolve(import.meta.dirname, "../..");
const compiler = path.join(root, "node_modules/typescript/bin/tsc");
const everything = ["", "/calls", "/events", "/server", "/signing"].map(
  (entry) => `export * from "@rollcall/sdk${entry}"`,
);
/** The imports of an app, and their maximum size, minified and compressed: the first four are the budgets of decision 0026. */
const scenarios: readonly (readonly [name: string, source: string, bytesMax: number])[] = [
  ["the client with sessions and all nouns", 'export { createRollcall } from "@rollcall/sdk"', 20_500],
  ["a connection", 'export { connect } from "@rollcall/sdk"', 12_000],
  [
    "the client with subscriptions to events",
    'export { createRollcall } from "@rollcall/sdk"; export { subscribe } from "@rollcall/sdk/events"',
    24_500,
  ],
  ["everything for browsers, with all calls and errors", everything.join(";"), 26_500],
  [
    "subscriptions to events, with what they share with the client",
    'export { subscribe } from "@rollcall/sdk/events"',
    5_450,
  ],
  ["one error", 'export { ItemAlreadyExists } from "@rollcall/sdk"', 600],
  ["one call", 'export { createCheckin } from "@rollcall/sdk/calls"', 470],
  ["the operators' client", 'export { createAdmin } from "@rollcall/sdk/admin"', 8_300],
];
/** The number of type instantiations that an app that uses everything may add to its compilation. */
const instantiationsMax = 25_000;

let folder: string;
before(() => {
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-sdk-"));
  const installed = path.join(folder, "node_modules/@rollcall/sdk");
  mkdirSync(installed, { recursive: true });
  cpSync(path.join(root, "sdk/package.json"), path.join(installed, "package.json"));
  symlinkSync(path.join(root, "node_modules/@types"), path.join(folder, "node_modules/@types"));
  execFileSync(process.execPath, [path.join(root, "scripts/compile-sdk.ts"), path.join(installed, "dist")]);
  writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
});
after(() => rmSync(folder, { recursive: true, force: true }));

function compile(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, ...args], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
  return stdout;
}

/** Compiles a file of an app. Returns the number of types that the compiler has instantiated. */
function checkTypes(file: string): number {
  const lib = ["--lib", "es2022,dom,dom.iterable,esnext.disposable", "--types", ""];
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", ...lib];
  const diagnostics = compile(...options, "--extendedDiagnostics", file);
  return Number(/Instantiations:\s+(\d+)/.exec(diagnostics)?.[1]);
}

describe("the package", () => {
  it("has types that are precise and take the compiler little time", () => {
    writeFileSync(path.join(folder, "empty.ts"), "export {};\n");
    cpSync(path.join(import.meta.dirname, "package/app.ts"), path.join(folder, "app.ts"));
    const added = checkTypes("app.ts") - checkTypes("empty.ts");
    assert.ok(added <= instantiationsMax, `${added} instantiations`);
  });

  it("can be imported and required, and importing it has no side effect", () => {
    const program = `
      const before = Object.getOwnPropertyNames(globalThis).length;
      const required = require("@rollcall/sdk");
      import("@rollcall/sdk").then(async (imported) => {
        const names = ["", "/calls", "/admin", "/events", "/server", "/signing", "/node"].map((entry) => import("@rollcall/sdk" + entry));
        const entries = await Promise.all(names);
        if (entries.some((entry) => Object.keys(entry).length === 0)) throw new Error("an entry is empty");
        if (required.createRollcall !== imported.createRollcall) throw new Error("two copies");
        console.log(Object.getOwnPropertyNames(globalThis).length - before);
      });`;
    const options = { cwd: folder, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=commonjs", "-e", program], options);
    assert.equal(status, 0, stderr);
    assert.equal(stdout, "0\n");
  });

  it("has a README that leads nowhere outside of the package", () => {
    const { files }: { files: readonly string[] } = JSON.parse(
      readFileSync(path.join(root, "sdk/package.json"), "utf8"),
    );
    const readme = readFileSync(path.join(root, "sdk/README.md"), "utf8");
    const links = [...readme.matchAll(/\]\((?!https:|#)([^)]+)\)/g)].map(([, target = ""]) => target);
    assert.deepEqual(
      links.filter((target) => !files.some((file) => target.startsWith(`${file}/`))),
      [],
    );
    const headings = [...readme.matchAll(/^## (.*)$/gm)].map(
      ([, title = ""]) => `#${title.toLowerCase().replaceAll(" ", "-")}`,
    );
    const anchors = [...readme.matchAll(/\]\((#[^)]+)\)/g)].map(([, anchor]) => anchor);
    assert.deepEqual(
      anchors.filter((anchor) => !headings.includes(`${anchor}`)),
      [],
    );
  });

  async function minify(contents: string): Promise<string> {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder },
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
      platform: "browser",
      write: false,
    });
    return outputFiles[0]?.text ?? "";
  }

  for (const [name, contents, bytesMax] of scenarios) {
    it(`${name} takes at most ${bytesMax} bytes`, async () => {
      const bytes = gzipSync(await minify(contents), { level: 9 }).length;
      assert.ok(bytes <= bytesMax, `${bytes} bytes`);
    });
  }

  it("has errors whose classes keep their names when they are minified", async () => {
    writeFileSync(path.join(folder, "minified.js"), await minify('export * from "@rollcall/sdk"'));
    const exported: Record<string, unknown> = await import(pathToFileURL(path.join(folder, "minified.js")).href);
    const classes = Object.entries(exported).filter(([, type]) => Object(type).prototype instanceof Error);
    assert.ok(classes.length > 30);
    assert.deepEqual(
      classes.map(([name]) => name),
      classes.map(([, type]) => Object(type).name),
    );
  });
});
