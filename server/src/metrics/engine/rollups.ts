import { ByteReader, ByteWriter, MalformedBytesError } from "../../lib/bytes.ts";
import { Cell } from "./cell.ts";
import { Groups } from "./groups.ts";

// The format version, which is the first byte of each row.
const version = 1;

/** The statistics of a bucket: one cell for all its events, or a cell for each content of one value name. */
export type Rollup = Cell | Groups;

export function writeRollup(rollup: Rollup): Uint8Array {
  const writer = new ByteWriter();
  writer.integer(version);
  rollup.write(writer);
  return writer.finish();
}

/** Merges the stored roll-up of a bucket and dimension with additional ones. */
export function mergeRollups(dimension: string, stored: Uint8Array | undefined, added: readonly Rollup[]): Rollup {
  const [first] = added;
  if (stored === undefined && added.length === 1 && first !== undefined) return first;
  const merged = stored === undefined ? createRollup(dimension) : readRollup(dimension, stored);
  for (const rollup of added) merged.merge(rollup as never); // all have the same dimension
  return merged;
}

function createRollup(dimension: string): Rollup {
  return dimension === "" ? new Cell("all") : new Groups();
}

function readRollup(dimension: string, data: Uint8Array): Rollup {
  return dimension === "" ? readAll(data) : readGroups(data);
}

export function readAll(data: Uint8Array): Cell {
  return Cell.read("all", open(data));
}

/** Returns the number of events of a roll-up of all events. Its first bytes are sufficient. */
export function readCount(data: Uint8Array): number {
  return open(data).integer();
}

export function readGroups(data: Uint8Array): Groups {
  return Groups.read(open(data));
}

/** Decodes a stored roll-up completely. @throws MalformedBytesError */
export function checkRollup(dimension: string, data: Uint8Array): void {
  const rollup = readRollup(dimension, data);
  if (rollup instanceof Groups) for (const _ of rollup.entries()); // each group is decoded when it is read
}

function open(data: Uint8Array): ByteReader {
  const reader = new ByteReader(data);
  if (reader.integer() !== version) throw new MalformedBytesError("The roll-up has another version");
  return reader;
}

/** The content of `metric_rollups.dimension` for a value name: never empty, because empty means all events. */
export function dimensionOf(name: string): string {
  return `=${name}`;
}
