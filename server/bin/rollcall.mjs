#!/usr/bin/env node
// `rollcall <command>`, from a checkout or from the npm package. Whatever Node.js runs this file (20 or later), the
// program runs on the release that it is made for: this one, or the one that the package brings along.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runOn } from "./run-on.mjs";

const nodeMajorMin = 26;

const args = process.argv.slice(2);

if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) {
  const isServing = args.length === 1 && args[0] === "serve";
  if (isServing) setFlagsFromString("--semi-space-growth-factor=1"); // main.ts says why, and resets it
  const program = await findProgram(isServing ? "main" : "cli");
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  runOn(findNode(), [fileURLToPath(import.meta.url), ...args]);
}

async function findProgram(name) {
  if (!existsSync(pathTo("../src"))) return pathTo(`../dist/${name}.js`);
  const { findBundle } = await import("../../scripts/bundle-cache.mjs");
  const bundle = findBundle();
  // The sources do the same, and start more slowly.
  return bundle === undefined ? pathTo(`../src/${name}.ts`) : `${bundle}/${name}.js`;
}

function pathTo(relative) {
  return fileURLToPath(new URL(relative, import.meta.url));
}

function findNode() {
  try {
    return createRequire(import.meta.url).resolve(`node/bin/node${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    console.error(
      `Rollcall needs Node.js ${nodeMajorMin}, and this is ${process.version}. The package brings one along, but the install ` +
        "script of its dependency `node` has not run: allow it, or install that release yourself.",
    );
    process.exit(1);
  }
}
