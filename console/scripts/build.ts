/**
 * Builds the console: `npm run build:console`. With `--if-changed` it does nothing if the last build is of these
 * sources.
 *
 * The result is `console/dist`: `index.html` as it is, with `__CSP_NONCE__` where the server puts a nonce, and every other file
 * compressed, as `<name>.br`.
 */
import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, unlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";

const compress = promisify(brotliCompress);
const root = path.resolve(import.meta.dirname, "..");
const dist = path.join(root, "dist");
const next = path.join(root, "dist.next");
const lock = path.join(root, ".build-lock");
const pollMs = 200;
/** A killed build leaves its lock, which is stale after this time without an update. */
const staleMs = 60_000;
const touchMs = 10_000;

/** Files outside of the folder that are built into the console. */
const shared = [
  "../package-lock.json",
  "../sdk/src/**/*.ts",
  "../server/src/event-log/event-types.ts",
  "../server/src/lib/{kinds,origins}.ts",
];

const digest = await digestOfSources();
if (await isNeeded()) {
  const release = await acquireLock();
  try {
    if (await isNeeded()) await buildConsole(digest);
  } finally {
    await release();
  }
}

async function isNeeded(): Promise<boolean> {
  return !process.argv.includes("--if-changed") || digest !== (await builtFrom());
}

async function buildConsole(digest: string): Promise<void> {
  const { build } = await import("vite"); // takes longer than to find that nothing has changed
  await rm(next, { recursive: true, force: true });
  await build({ root, logLevel: "error", build: { outDir: next, emptyOutDir: true } });
  await finishPage();
  const files = globSync("**/*", { cwd: next, withFileTypes: true }).filter((file) => file.isFile());
  await Promise.all(files.map((file) => path.join(file.parentPath, file.name)).map(compressFile));
  await writeFile(path.join(next, ".built-from"), digest);
  await rm(dist, { recursive: true, force: true });
  await rename(next, dist);
}

/** Gives the theme's script a hashed name, and each file that the page loads its integrity. */
async function finishPage(): Promise<void> {
  const file = path.join(next, "index.html");
  const theme = await readFile(path.join(next, "theme.js"));
  const name = `assets/theme-${createHash("sha256").update(theme).digest("base64url").slice(0, 8)}.js`;
  await rename(path.join(next, "theme.js"), path.join(next, name));
  let page = (await readFile(file, "utf8")).replace("./theme.js", `./${name}`);
  for (const [loaded, address] of page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.(?:js|css))"/g)) {
    const content = await readFile(path.join(next, address ?? ""));
    const integrity = `sha384-${createHash("sha384").update(content).digest("base64")}`;
    page = page.replace(loaded, `${loaded} integrity="${integrity}"`);
  }
  await writeFile(file, page);
}

async function compressFile(file: string): Promise<void> {
  if (path.basename(file) === "index.html") return;
  const content = await readFile(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  await writeFile(`${file}.br`, await compress(content, { params }));
  await unlink(file);
}

/** A digest of all inputs of a build. */
async function digestOfSources(): Promise<string> {
  const own = ["index.html", "package.json", "vite.config.ts", "{src,public,scripts}/**/*.*"];
  const hash = createHash("sha256");
  for (const file of globSync([...own, ...shared], { cwd: root }).sort()) {
    hash.update(`${file.replaceAll(path.sep, "/")}\0`).update(await readFile(path.join(root, file)));
  }
  return hash.digest("hex");
}

function builtFrom(): Promise<string | undefined> {
  return readFile(path.join(dist, ".built-from"), "utf8").catch(() => undefined);
}

/** Waits until no other build runs. Returns a function that releases the lock. */
async function acquireLock(): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await mkdir(path.dirname(lock), { recursive: true });
      await (await open(lock, "wx")).close();
      break;
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
      if (error.code !== "EEXIST") {
        console.error(error.message); // such as in a checkout of another user
        process.exit(1);
      }
      const touched = await stat(lock).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      );
      if (Date.now() - touched > staleMs) await unlink(lock).catch(() => undefined);
      await wait(pollMs);
    }
  }
  const touching = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => undefined), touchMs);
  return async () => {
    clearInterval(touching);
    await unlink(lock);
  };
}
