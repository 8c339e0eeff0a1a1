import { ByteReader, ByteWriter } from "../lib/bytes.ts";
import { Cell } from "./metrics.cell.ts";
import { Groups } from "./metrics.groups.ts";

// The first byte of each row, for the day when one is written otherwise.
const version = 1;

/** All events of a bucket, or those that have a value of some name, by its contents. */
export type Rollup = Cell | Groups;

export function writeRollup(rollup: Rollup): Uint8Array {
  const writer = new ByteWriter();
  writer.integer(version);
  rollup.write(writer);
  return writer.finish();
}

/** @param dimension as in `metric_rollups.dimension` */
export function readRollup(dimension: string, data: Uint8Array): Rollup {
  return dimension === "" ? readAll(data) : readGroups(data);
}

export function readAll(data: Uint8Array): Cell {
  return Cell.read("all", open(data));
}

export function readGroups(data: Uint8Array): Groups {
  return Groups.read(open(data));
}

function open(data: Uint8Array): ByteReader {
  const reader = new ByteReader(data);
  if (reader.integer() !== version) throw new Error("The roll-up was written by a later version");
  return reader;
}

/** What stands in `metric_rollups.dimension` for the name of a value: never empty, which is for all events. */
export function dimensionOf(name: string): string {
  return `=${name}`;
}
