#!/usr/bin/env node
// `rollcall <command>`, from a checkout or from the npm package. Whatever Node.js runs this file (20 or later), the
// program runs on the release that it is made for: this one, or the one that the package brings along.

import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { findNode, isNodeRecent } from "./find-node.mjs";
import { runOn } from "./run-on.mjs";

const args = process.argv.slice(2);

if (isNodeRecent) {
  const isServing = args.length === 1 && args[0] === "serve";
  if (isServing) setFlagsFromString("--semi-space-growth-factor=1"); // main.ts says why, and resets it
  const program = await findProgram(isServing ? "main" : "cli");
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  runOn(findNodeOrExit(), [fileURLToPath(import.meta.url), ...args]);
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

function findNodeOrExit() {
  try {
    return findNode();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
