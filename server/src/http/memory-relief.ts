import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Makes malloc return free memory to the operating system. glibc does not return free memory below a block in use, and
 * after a flood that is most of it.
 *
 * Does nothing without glibc or without Node.js's `node:ffi`.
 */
function trimMemory(): void {
  trim ??= loadTrim();
  trim(0n);
}

type Trim = (leftBytes: bigint) => unknown;
let trim: Trim | undefined;

function loadTrim(): Trim {
  const noop = () => {};
  if (process.platform !== "linux") return noop;
  const { emitWarning } = process;
  process.emitWarning = noop; // hide the warning that the module is experimental
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen("libc.so.6", { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return functions.malloc_trim as Trim; // of the signature above
  } catch {
    return noop;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Collects the buffers of large requests during and after a flood (hostile.md 43). V8 would not: it barely accounts for
 * memory outside of its heap, and an idle process allocates nothing that would trigger a collection.
 */

/** A collection of young objects takes less than 1 ms, and this many bytes take several to arrive. */
const youngBytesMax = 4_194_304;
/** Less garbage does not justify a full collection, which takes tens of milliseconds. */
const worthwhileBytes = 33_554_432;
/** A flood is over when less than `worthwhileBytes` are discarded in this time. */
const quietMs = 2_000;
/** Under continuous load, the collection runs after this many postponements. */
const postponementsMax = 15;
/** After a collection, another thread of V8 frees the buffers. */
const sweepMs = 500;
/** A second collection frees the responses that were still being sent at the time of the first. */
const followUpMs = 10_000;

let youngBytes = 0;
/** Since the last scheduled collection. */
let discardedBytes = 0;
/** The size of all buffers after the last full collection. */
let neededBytes = 0;
let postponements = 0;
let timer: NodeJS.Timeout | undefined;
let isFollowUp = false;

/** Notes that a buffer of this size is unused, or will be soon. */
export function noteDiscarded(bytes: number): void {
  youngBytes += bytes;
  if (youngBytes < youngBytesMax) return;
  const noted = youngBytes;
  youngBytes = 0;
  collect("minor");
  // Only a full collection frees buffers that have survived young ones.
  if (process.memoryUsage().arrayBuffers > neededBytes + worthwhileBytes) collectAll("regular");
  noteReleased(noted);
}

/** Notes unused bytes that V8 accounts for itself. */
export function noteReleased(bytes: number): void {
  discardedBytes += bytes;
  if (discardedBytes < worthwhileBytes || (timer !== undefined && !isFollowUp)) return;
  postponements = 0;
  scheduleCollection(quietMs, false);
}

/** Schedules the collection after a flood, which collections during the flood must not postpone. */
function scheduleCollection(ms: number, isAnother: boolean): void {
  clearTimeout(timer);
  discardedBytes = 0;
  isFollowUp = isAnother;
  timer = setTimeout(collectWhenQuiet, ms).unref();
}

function collectWhenQuiet(): void {
  timer = undefined;
  postponements += 1;
  if (!isFollowUp && discardedBytes >= worthwhileBytes && postponements < postponementsMax) {
    scheduleCollection(quietMs, false);
    return;
  }
  collectAll("last-resort");
  setTimeout(trimMemory, sweepMs).unref();
  if (!isFollowUp) scheduleCollection(followUpMs, true);
}

function collectAll(flavor: "regular" | "last-resort"): void {
  collect("major", flavor);
  neededBytes = process.memoryUsage().arrayBuffers;
}

type Collect = (options: { readonly type: "minor" | "major"; readonly flavor: "regular" | "last-resort" }) => void;
let collector: Collect | undefined;

function collect(type: "minor" | "major", flavor: "regular" | "last-resort" = "regular"): void {
  if (collector === undefined) {
    setFlagsFromString("--expose-gc");
    collector = runInNewContext("gc") as Collect; // the flag defines `gc` in new contexts only
  }
  collector({ type, flavor });
}
