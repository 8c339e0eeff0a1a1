// Runs one of the project's scripts: node scripts/run.mjs <script> [args…]
//
// Any Node.js from 20 on can start this file: missing or outdated dependencies are installed first, and the script
// itself runs on the Node.js that server/package.json pins. A relative script path starts at the root of the
// repository; the working directory stays the caller's.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import Module from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runOn } from "../server/bin/run-on.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const pinnedNode = path.join(root, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");

const [scriptPath, ...args] = process.argv.slice(2);
if (scriptPath === undefined) {
  console.error("Usage: node scripts/run.mjs <script> [args…]");
  process.exit(2);
}
const script = path.resolve(root, scriptPath);

if (!isInstalled()) install();

if (process.version === `v${readJson("server/package.json").dependencies.node}`) {
  process.argv = [process.execPath, script, ...args];
  // Unlike import(), this makes the script the main module: import.meta.main is true in it.
  Module.runMain();
} else {
  runOn(pinnedNode, [script, ...args]);
}

/**
 * Whether node_modules matches package-lock.json, without the packages that `npm ci --omit=dev` leaves out. Compares
 * contents, because copies and checkouts do not keep modification times.
 */
function isInstalled() {
  if (!existsSync(pinnedNode) || !existsSync(path.join(root, "node_modules/.package-lock.json"))) return false;
  const { "": _workspace, ...locked } = readJson("package-lock.json").packages;
  const installed = readJson("node_modules/.package-lock.json").packages;
  const omitsDev = !Object.values(installed).some((entry) => entry.dev);
  const isSame = (a, b) => a.version === b.version && a.integrity === b.integrity;
  return (
    Object.keys(installed).every((name) => name in locked) &&
    Object.entries(locked).every(([name, entry]) =>
      name in installed ? isSame(entry, installed[name]) : entry.optional || (omitsDev && entry.dev),
    )
  );
}

function install() {
  const startedAt = Date.now();
  process.stderr.write("Installing dependencies (first run only)… ");
  const command = "npm ci --loglevel=error --no-audit --no-fund --no-progress";
  // The selection of an outer npm command must not apply to this installation.
  const settings = Object.entries(process.env).filter(([name]) => !/^npm_config_(workspaces?|global)$/i.test(name));
  // npm's own summary is dropped: a script's standard output belongs to the script. The shell finds npm.cmd on Windows.
  const { status } = spawnSync(command, {
    cwd: root,
    env: Object.fromEntries(settings),
    shell: true,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) {
    console.error(`\n"${command}" failed in ${root}`);
    process.exit(status ?? 1);
  }
  if (!existsSync(pinnedNode)) {
    console.error(`\nnpm did not install ${pinnedNode}. Are install scripts disabled (npm's ignore-scripts)?`);
    process.exit(1);
  }
  console.error(`${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), "utf8"));
}
