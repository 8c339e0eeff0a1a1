#!/usr/bin/env node
// `rollcall <command>`, from a checkout or from the npm package. Whatever Node.js runs this file (20 or later), the
// program runs on the release that it is made for: this one, or the one that the package brings along.
//
// Without import statements of Node.js's modules: they read every export, which takes a thirtieth of the start.

import { findNode, isNodeRecent } from "./find-node.mjs";

const args = process.argv.slice(2);

if (isNodeRecent) {
  const isServing = args.length === 1 && args[0] === "serve";
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  if (isServing) setFlagsFromString("--semi-space-growth-factor=1"); // main.ts says why, and resets it
  const program = await findProgram(isServing ? "main" : "cli");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  const { fileURLToPath } = await import("node:url");
  const { runOn } = await import("./run-on.mjs");
  runOn(await findNodeOrExit(), [fileURLToPath(import.meta.url), ...args]);
}

async function findProgram(name) {
  if (!process.getBuiltinModule("node:fs").existsSync(pathTo("../src"))) return pathTo(`../dist/${name}.js`);
  const { findBundle } = await import("../../scripts/bundle-cache.mjs");
  const bundle = findBundle();
  // The sources do the same, and start more slowly.
  return bundle === undefined ? pathTo(`../src/${name}.ts`) : `${bundle}/${name}.js`;
}

function pathTo(relative) {
  return process.getBuiltinModule("node:url").fileURLToPath(new URL(relative, import.meta.url));
}

async function findNodeOrExit() {
  try {
    return await findNode();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
