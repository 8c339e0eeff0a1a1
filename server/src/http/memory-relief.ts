import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Makes malloc return free memory to the operating system. glibc keeps free memory below any block in use, and after a
 * flood, most of its memory is such.
 *
 * Does nothing without glibc or without Node.js's `node:ffi`.
 */
function trimMemory(): void {
  trim ??= findTrim();
  trim(0n);
}

type Trim = (leftBytes: bigint) => unknown;
let trim: Trim | undefined;

function findTrim(): Trim {
  const nothing = () => {};
  if (process.platform !== "linux") return nothing;
  const { emitWarning } = process;
  process.emitWarning = nothing; // hide the warning that the module is experimental
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen("libc.so.6", { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return functions.malloc_trim as Trim; // of the signature above
  } catch {
    return nothing;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * Keeps the buffers of large requests from piling up as garbage, and collects them after a flood (hostile.md 43). V8
 * does neither: it barely accounts for memory outside of its heap, and an idle process allocates nothing that would
 * trigger a collection.
 */

/**
 * A collection of young objects takes less than a millisecond, while this many bytes of buffers take several to arrive.
 */
const youngBytesMax = 4_194_304;
/** Less garbage does not justify a full collection, which takes tens of milliseconds. */
const worthwhileBytes = 33_554_432;
/** A flood is over when less than `worthwhileBytes` are discarded in this time. */
const quietMs = 2_000;
/** Under continuous load, memory is returned after this many postponed collections. */
const postponementsMax = 15;
/** Another thread frees buffers after the collection that found them unused. */
const sweepMs = 500;
/** For responses that were still being sent at the end of the flood. */
const followUpMs = 10_000;

let youngBytes = 0;
/** Since the last check. */
let discardedBytes = 0;
/** The bytes of buffers after the last full collection. */
let neededBytes = 0;
let postponements = 0;
let timer: NodeJS.Timeout | undefined;
let isFollowUp = false;

/** Reports that a buffer of this size is unused, or will be soon. */
export function noteDiscarded(bytes: number): void {
  youngBytes += bytes;
  if (youngBytes < youngBytesMax) return;
  const noted = youngBytes;
  youngBytes = 0;
  collect("minor");
  // Buffers that survived young collections need a full one.
  if (process.memoryUsage().arrayBuffers > neededBytes + worthwhileBytes) collectAll("regular");
  noteReleased(noted);
}

/** Reports unused bytes that V8 accounts for itself. */
export function noteReleased(bytes: number): void {
  discardedBytes += bytes;
  if (discardedBytes < worthwhileBytes || (timer !== undefined && !isFollowUp)) return;
  postponements = 0;
  scheduleCollection(quietMs, false);
}

/** Schedules the collection after a flood. Collections during the flood must not postpone it. */
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
    collector = runInNewContext("gc") as Collect; // available in new contexts because of the flag
  }
  collector({ type, flavor });
}
