#!/usr/bin/env node
// `rollcall <command>`, from a checkout or from the npm package. Whatever Node.js runs this file (20 or later), the
// program runs on the release that it is made for: this one, or the one that the package brings along.

import { existsSync } from "node:fs";
import module from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findNode, isNodeRecent } from "./find-node.mjs";
import { stopWithParent } from "./stop-with-parent.mjs";

const server = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);

if (isNodeRecent) {
  const isServing = args.length === 1 && args[0] === "serve";
  if (args[0] === "serve") stopWithParent();
  const program = await findProgram(isServing ? "main" : "cli/cli");
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  const { runOn } = await import("./run-on.mjs");
  runOn(findNodeOrExit(), [fileURLToPath(import.meta.url), ...args]);
}

async function findProgram(name) {
  const bundle = await findBundle();
  // The sources do the same, and start more slowly.
  if (bundle === undefined) return path.join(server, `src/${name}.ts`);
  // Workers inherit the variable. An operator may set it, or turn the cache off by NODE_DISABLE_COMPILE_CACHE=1.
  process.env.NODE_COMPILE_CACHE ||= path.join(bundle, "compiled");
  module.enableCompileCache();
  return path.join(bundle, `${path.basename(name)}.js`);
}

async function findBundle() {
  if (!existsSync(path.join(server, "src"))) return path.join(server, "dist");
  const { findBundle } = await import("../../scripts/bundle-cache.mjs");
  return findBundle();
}

function findNodeOrExit() {
  try {
    return findNode();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}
