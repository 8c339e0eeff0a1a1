#!/usr/bin/env node
// `rollcall <command>`, from a checkout or from the npm package. Whatever Node.js runs this file (20 or later), the
// program runs on the release that it is made for: this one, or the one that the package brings along.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const nodeMajorMin = 26;

const args = process.argv.slice(2);
// A checkout has the sources, which that release runs as they are; the package has them without their types.
const [folder, extension] = existsSync(pathTo("../src")) ? ["../src", ".ts"] : ["../dist", ".js"];
const isServing = args.length === 1 && args[0] === "serve";
const program = pathTo(`${folder}/${isServing ? "main" : "cli"}${extension}`);

if (Number.parseInt(process.versions.node, 10) >= nodeMajorMin) {
  process.argv[1] = program;
  await import(`${folder}/${isServing ? "main" : "cli"}${extension}`);
} else {
  runOn(findNode());
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

function runOn(node) {
  const child = spawn(node, [program, ...(isServing ? [] : args)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // A terminal has already sent its own Ctrl-C and hang-up to both processes; twice could mean "at once".
      if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
