// The bundles of a checkout: server/.bundle has one folder for each recent state of the sources. A start with changed
// sources makes its own, so that no start uses an old one and running programs keep their files.
//
// JavaScript, because the compiler of TypeScript would stay in the memory of every server.

import { hash, randomUUID } from "node:crypto";
import { accessSync, constants, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const bundles = path.join(root, "server/.bundle");
const bundler = "scripts/bundle.ts";
const keptBundles = 5;

/** Returns the folder with the bundle of the current sources; undefined when it cannot be made or read. */
export async function findBundle() {
  const folder = path.join(bundles, keyOfSources());
  if (isReadable(folder)) return folder;
  try {
    await makeBundle(folder);
    removeOldBundles(folder);
  } catch {
    // No bundler is installed, the folder is read-only, or a source has an error that Node.js will show.
  }
  return isReadable(folder) ? folder : undefined;
}

/** False for a bundle of another user whose umask hides it. */
function isReadable(folder) {
  try {
    accessSync(`${folder}/main.js`, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Changes with the sources and with the installed packages. Compares times and sizes, because every start compares
 * them.
 */
function keyOfSources() {
  const sources = readdirSync(path.join(root, "server/src"), { recursive: true })
    .filter((name) => !name.endsWith(".test.ts"))
    .map((name) => `server/src/${name}`);
  const inputs = ["server/package.json", "node_modules/.package-lock.json", bundler, ...sources];
  return hash("sha256", inputs.map(stateOf).join("\n")).slice(0, 16);
}

function stateOf(file) {
  const { mtimeMs, size } = statSync(`${root}/${file}`, { throwIfNoEntry: false }) ?? {};
  return `${file} ${mtimeMs} ${size}`;
}

/** Makes the bundle under another name first: of several processes that make it, one succeeds, with a whole bundle. */
async function makeBundle(folder) {
  const unfinished = path.join(bundles, `unfinished-${randomUUID()}`);
  mkdirSync(unfinished, { recursive: true }); // unlike mkdtempSync, readable for other users
  try {
    const { spawnSync } = await import("node:child_process"); // takes 1.3 MB of memory
    const { status } = spawnSync(process.execPath, [path.join(root, bundler), unfinished], { stdio: "ignore" });
    if (status === 0) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function removeOldBundles(newest) {
  const madeAt = (folder) => statSync(folder).mtimeMs;
  const others = readdirSync(bundles)
    .map((name) => path.join(bundles, name))
    .filter((folder) => folder !== newest)
    .sort((a, b) => madeAt(b) - madeAt(a));
  for (const folder of others.slice(keptBundles - 1)) rmSync(folder, { recursive: true, force: true });
}
