// The bundles of a checkout: server/.bundle has one folder for each recent state of the sources. A start with changed
// sources makes its own, so that no start uses an old one and running programs keep their files.
//
// JavaScript, because the compiler of TypeScript would stay in the memory of every server.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const bundles = path.join(root, "server/.bundle");
const bundler = path.join(root, "scripts/bundle.ts");
const keptBundles = 5;

/** Returns the folder with the bundle of the current sources; undefined when it cannot be made. */
export function findBundle() {
  const folder = path.join(bundles, keyOfSources());
  if (existsSync(folder)) return folder;
  try {
    makeBundle(folder);
    removeOldBundles();
  } catch {
    // No bundler is installed, the folder is read-only, or a source has an error that Node.js will show.
  }
  return existsSync(folder) ? folder : undefined;
}

/** Changes with the sources and with the installed packages. Compares times and sizes, because every start asks. */
function keyOfSources() {
  const sources = readdirSync(path.join(root, "server/src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => path.join(entry.parentPath, entry.name));
  const others = ["server/package.json", "node_modules/.package-lock.json"].map((file) => path.join(root, file));
  const hash = createHash("sha256");
  for (const file of [...sources.sort(), ...others, bundler]) {
    const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    hash.update(`${path.relative(root, file)} ${mtimeMs} ${size}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Makes the bundle under another name first: of several processes that make it, one succeeds, with a whole bundle. */
function makeBundle(folder) {
  mkdirSync(bundles, { recursive: true });
  const unfinished = mkdtempSync(path.join(bundles, "unfinished-"));
  try {
    const { status } = spawnSync(process.execPath, [bundler, unfinished], { stdio: "ignore" });
    if (status === 0) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function removeOldBundles() {
  const madeAt = (folder) => statSync(folder).mtimeMs;
  const folders = readdirSync(bundles).map((name) => path.join(bundles, name));
  for (const folder of folders.sort((a, b) => madeAt(b) - madeAt(a)).slice(keptBundles)) {
    rmSync(folder, { recursive: true, force: true });
  }
}
