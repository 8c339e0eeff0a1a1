import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Cost } from "./test-worker.ts";

/** Seconds of processor time, and seconds from start to end, of a test file on each engine where it ran. */
export type Durations = Readonly<Record<string, Readonly<Record<string, readonly [processor: number, total: number]>>>>;

const recordFile = path.join(import.meta.dirname, "test-durations.json");
/** A file that computes for a smaller part of its duration mostly waits. */
const processorShareMin = 0.4;
/** Shorter files are over before the lane makes a difference. */
const waitingSecondsMin = 3;

export function readDurations(): Durations {
  return JSON.parse(readFileSync(recordFile, "utf8"));
}

/** The files in the order in which they should start: those without a record, then the longest. */
export function longestFirst(files: readonly string[], engine: string, durations: Durations): string[] {
  const seconds = (file: string) => recordOf(file, engine, durations)?.[1] ?? Number.MAX_VALUE;
  return [...files].sort((a, b) => seconds(b) - seconds(a));
}

/**
 * Whether the file leaves the processor to others for most of its time, as it waits for programs or timers. Judged on
 * SQLite: the processor time of a database server is not in the record.
 */
export function mostlyWaits(file: string, durations: Durations): boolean {
  const [processor, total] = durations[file]?.["SQLite"] ?? [0, 0];
  return total >= waitingSecondsMin && processor < total * processorShareMin;
}

/** Of a file without a record on this engine, that of another is the better guess than none. */
function recordOf(file: string, engine: string, durations: Durations): readonly [number, number] | undefined {
  const record = durations[file];
  return record?.[engine] ?? Object.values(record ?? {})[0];
}

/** Writes the record in the form of `npm run format`, with a file on each line. */
export function writeDurations(durations: Durations): void {
  const lines = Object.keys(durations)
    .sort()
    .map((file) => {
      const engines = Object.entries(durations[file] ?? {}).map(([engine, seconds]) => {
        return `"${engine}": [${seconds.join(", ")}]`;
      });
      return `  "${file}": { ${engines.join(", ")} }`;
    });
  writeFileSync(recordFile, `{\n${lines.join(",\n")}\n}\n`);
}

/** The record with these costs, rounded, in place of what it had for them, and without the files that no longer exist. */
export function updateDurations(
  before: Durations,
  engine: string,
  costs: readonly Cost[],
  isFile: (file: string) => boolean,
): Durations {
  const after = Object.fromEntries(Object.entries(before).filter(([file]) => isFile(file)));
  for (const { file, processorMs, totalMs } of costs) {
    after[file] = { ...after[file], [engine]: [Math.round(processorMs / 1_000), Math.round(totalMs / 1_000)] };
  }
  return after;
}
