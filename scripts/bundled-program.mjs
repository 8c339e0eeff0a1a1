// Starts a program of the bundle (scripts/bundle-scripts.ts). Its files are scripts: each is the source of a function that
// returns the exports of the file. Of a script, unlike a module, V8 can write down what it has compiled at any time: here
// with the functions that a start calls, so that the next start does not compile them again.

const { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, renameSync, writeFileSync } =
  process.getBuiltinModule("node:fs");
const { createRequire } = process.getBuiltinModule("node:module");
const { setFlagsFromString } = process.getBuiltinModule("node:v8");
const { Script } = process.getBuiltinModule("node:vm");

/** V8 accepts only what was compiled under the same flags: those of the start, of which the program resets some. */
const program = { file: "PROGRAM", flags: "", resetFlags: "" };

const { dirname } = import.meta;
const keptFolder = `${dirname}/compiled`;
const kept = `${keptFolder}/${program.file}-${process.version}-${process.arch}`;
/** The next start keeps what the first requests have needed as well. */
const firstRequestsMs = 5_000;
const numberBytes = 4;

/** What this start had to compile. */
const scripts = new Map();
const exported = new Map();
let isStarting = true;
let requireInstalled;

const isKeeping = process.env["NODE_DISABLE_COMPILE_CACHE"] !== "1";
setFlagsFromString(program.flags);
const compiled = isKeeping ? readKept() : new Map();
await evaluate(program.file);
isStarting = false;
releaseKept();
if (isKeeping) {
  setTimeout(keepCompiled, firstRequestsMs).unref();
  process.once("exit", (code) => code === 0 && keepCompiled());
}

function load(path) {
  const file = path.slice("./".length);
  const known = exported.get(file);
  if (known !== undefined) return known;
  const values = evaluate(file);
  exported.set(file, values);
  return values;
}

/** Imports a file of the bundle, or a package. */
async function lazily(name) {
  return name.startsWith("./") ? load(name) : import(name);
}

function require(name) {
  requireInstalled ??= createRequire(import.meta.url);
  return process.getBuiltinModule(name) ?? requireInstalled(name);
}

function evaluate(file) {
  const cachedData = compiled.get(file);
  const url = new URL(file, import.meta.url).href;
  // The bundler writes ASCII.
  const script = new Script(readFileSync(`${dirname}/${file}`, "latin1"), {
    filename: url,
    ...(cachedData !== undefined && { cachedData }),
  });
  if (isKeeping && isStarting && script.cachedDataRejected !== false) scripts.set(file, script);
  return script.runInThisContext()(load, lazily, require, { url, dirname });
}

/** The size of a table of contents, the table, and then the compiled scripts in its order. */
function readKept() {
  try {
    const bytes = readIntoOwnMemory(kept);
    let end = numberBytes + bytes.readUInt32LE(0);
    const sizes = JSON.parse(bytes.toString("latin1", numberBytes, end));
    return new Map(
      sizes.map(([file, size]) => {
        end += size;
        return [file, bytes.subarray(end - size, end)];
      }),
    );
  } catch {
    return new Map(); // nothing has been kept yet
  }
}

/** Unlike `readFileSync`, which puts a small file into memory that it shares, and that cannot be freed. */
function readIntoOwnMemory(path) {
  const file = openSync(path);
  try {
    const bytes = Buffer.allocUnsafeSlow(fstatSync(file).size);
    readSync(file, bytes);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** Frees the bytes at once: the garbage collector would leave some 2 MB to an idle process. */
function releaseKept() {
  for (const { buffer } of compiled.values()) if (!buffer.detached) buffer.transfer(0);
  compiled.clear();
}

/** Adds what this process has compiled to the kept scripts: other processes load other files. */
function keepCompiled() {
  if (scripts.size === 0) return;
  try {
    const all = readKept();
    setFlagsFromString(program.flags);
    for (const [file, script] of scripts) all.set(file, script.createCachedData());
    scripts.clear();
    const table = Buffer.from(JSON.stringify([...all].map(([file, bytes]) => [file, bytes.length])), "latin1");
    const size = Buffer.alloc(numberBytes);
    size.writeUInt32LE(table.length);
    mkdirSync(keptFolder, { recursive: true });
    const unfinished = `${kept}-${process.pid}`;
    writeFileSync(unfinished, Buffer.concat([size, table, ...all.values()]), { flush: true });
    renameSync(unfinished, kept);
  } catch {
    // The folder is read-only: every start compiles.
  } finally {
    setFlagsFromString(program.resetFlags);
  }
}
