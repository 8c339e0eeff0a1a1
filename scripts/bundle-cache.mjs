// The bundles of a checkout: server/.bundle has one folder for each recent state of the sources. A start with changed
// sources makes its own, so that no start uses an old one and running programs keep their files.
//
// JavaScript, because the compiler of TypeScript would stay in the memory of every server.

// An import statement would read every export, and so load what Node.js itself loads on demand.
const { hash } = process.getBuiltinModule("node:crypto");
const { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } =
  process.getBuiltinModule("node:fs");
const path = process.getBuiltinModule("node:path");

const root = path.resolve(import.meta.dirname, "..");
const bundles = path.join(root, "server/.bundle");
const bundler = "scripts/bundle.ts";
const parts = [bundler, "scripts/bundle-scripts.ts", "scripts/bundled-program.mjs"];
const keptBundles = 5;

/** Returns the folder with the bundle of the current sources; undefined when it cannot be made. */
export function findBundle() {
  const folder = path.join(bundles, keyOfSources());
  if (existsSync(folder)) return folder;
  try {
    makeBundle(folder);
    removeOldBundles(folder);
  } catch {
    // No bundler is installed, the folder is read-only, or a source has an error that Node.js will show.
  }
  return existsSync(folder) ? folder : undefined;
}

/**
 * Changes with the sources and with the installed packages. Compares times and sizes, because every start compares
 * them.
 */
function keyOfSources() {
  const states = ["server/package.json", "node_modules/.package-lock.json", ...parts].map(stateOf);
  addStates("server/src", states);
  return hash("sha256", states.join("\n")).slice(0, 16);
}

/** Joins paths as strings: so many calls of `node:path` start V8's optimizing compiler, which adds 5 MB to every server. */
function addStates(folder, states) {
  for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) addStates(name, states);
    else if (!name.endsWith(".test.ts")) states.push(stateOf(name));
  }
}

function stateOf(file) {
  const { mtimeMs, size } = statSync(`${root}/${file}`, { throwIfNoEntry: false }) ?? {};
  return `${file} ${mtimeMs} ${size}`;
}

/** Makes the bundle under another name first: of several processes that make it, one succeeds, with a whole bundle. */
function makeBundle(folder) {
  mkdirSync(bundles, { recursive: true });
  const unfinished = mkdtempSync(path.join(bundles, "unfinished-"));
  try {
    const { spawnSync } = process.getBuiltinModule("node:child_process");
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
