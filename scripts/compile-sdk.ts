/**
 * Compiles the client, by default to `sdk/dist`: file by file, so that bundlers leave out what an app does not use, and into
 * few files in `bundle/` for Node.js, which takes most of the time of an import to find and read each file. Run by
 * `npm pack` (`prepack` of sdk/package.json).
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { build, type Plugin } from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const sdk = path.join(root, "sdk");
const output = path.resolve(process.argv[2] ?? path.join(sdk, "dist"));

rmSync(output, { recursive: true, force: true });
const compiler = path.join(root, "node_modules/typescript/bin/tsc");
const options = ["-p", path.join(sdk, "tsconfig.build.json"), "--outDir", output];
execFileSync(process.execPath, [compiler, ...options], { stdio: "inherit" });

const { exports }: { exports: Record<string, { default: string } | string> } = JSON.parse(
  readFileSync(path.join(sdk, "package.json"), "utf8"),
);
const entries = Object.values(exports).filter((each) => typeof each === "object");
/** Bundlers of apps get the first of these, because one that finds no `node:http` would fail. */
const nodeForms: Plugin = {
  name: "node-forms",
  setup({ onResolve }) {
    onResolve({ filter: /\/exchange-text\.js$/ }, () => ({ path: path.join(output, "parts/node/exchange-text.js") }));
  },
};
await build({
  entryPoints: entries.map(({ default: file }) => path.join(output, path.relative("dist", file))),
  outdir: path.join(output, "bundle"),
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  plugins: [nodeForms],
});
copyFileSync(path.join(root, "LICENSE"), path.join(output, "../LICENSE"));
