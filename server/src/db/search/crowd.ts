import { type CallWork, yieldWork } from "../../lib/call-work.ts";
import { type CellRange, cellsOfRing, centerOfCell } from "../../lib/cells.ts";
import { distanceMeters, type Location } from "../../lib/locations.ts";
import type { Queries } from "../database.ts";
import { fewRows } from "./area.ts";
import { listLengthMax } from "./list-lengths.ts";
import { type CellEntry, hasMoreInCells, rowsByCell, rowsByTie, rowsInCells, type Scope } from "./scope.ts";
import { distinctRows, eachChunk } from "./stream.ts";

/** Index entries per statement when a ring holds many rows. */
const entriesPerChunk = 4_000;
/** This number of index entries of a crowd costs as much as a row. */
const entriesPerRow = 8;
/** A location is less than this away from the middle of its cell, rounding included. */
const cellMetersMax = 1;
/** A crowded ring justifies more ranges, which match fewer rows outside the ring. */
export const crowdRangesMax = 96;

/** The rows around a location. */
export interface Surroundings {
  readonly scope: Scope;
  /** The entries of the scope in the index of cells. */
  readonly entryScope: Scope;
  readonly middle: Location;
  readonly queries: Queries;
}

/**
 * Many rows of a ring, represented by the entries of the index of cells: a cell is small enough to decide which rows
 * are next, and only these are read.
 */
export interface Crowd {
  readonly isInward: boolean;
  /** In walk order. */
  readonly entries: readonly { readonly id: string; readonly meters: number }[];
  /** The first entry whose row may be beyond the rows that were read. */
  first: number;
  /** The distance at which the walk leaves the ring. */
  readonly end: number;
}

/** Reads the index entries of a ring. */
export async function gatherCrowd(
  { entryScope, middle, queries }: Surroundings,
  [inner, outer]: readonly [number, number],
  isInward: boolean,
  work: CallWork | undefined,
): Promise<Crowd> {
  const entries: { id: string; meters: number }[] = [];
  const cells = cellsOfRing(middle, inner, outer, crowdRangesMax);
  let examined = 0;
  for await (const chunk of chunksIn<CellEntry>(entryScope, cells, entriesPerChunk, queries, work)) {
    examined += chunk.length;
    for (const { id, entry_cell } of chunk) {
      const meters = distanceMeters(middle, centerOfCell(entry_cell));
      if (meters >= inner - cellMetersMax && meters <= outer + cellMetersMax) entries.push({ id, meters });
    }
  }
  work?.examined(Math.ceil(examined / entriesPerRow));
  entries.sort(isInward ? (a, b) => b.meters - a.meters : (a, b) => a.meters - b.meters);
  return { isInward, entries, first: 0, end: isInward ? inner : outer };
}

/**
 * Reads the next rows of a crowd.
 *
 * @param wanted a few more rows are read
 * @returns all unread rows up to a distance, and some that are beyond it or were read before
 */
export async function readCrowd<Row extends { readonly id: string }>(
  { scope, queries }: Surroundings,
  crowd: Crowd,
  wanted: number,
  work: CallWork | undefined,
): Promise<{ readonly rows: readonly Row[]; readonly reached: number }> {
  const { isInward, entries, first, end } = crowd;
  const sign = isInward ? -1 : 1;
  const last = entries[first + Math.max(wanted, fewRows) - 1];
  const distance = last === undefined ? end : last.meters + sign * cellMetersMax;
  const reached = sign * (end - distance) <= 0 ? end : distance;
  const ids: string[] = [];
  let index = first;
  for (let entry = entries[index]; entry !== undefined; entry = entries[++index]) {
    const beyond = sign * (entry.meters - reached);
    if (beyond > cellMetersMax) break;
    ids.push(entry.id);
    if (beyond <= -cellMetersMax) crowd.first = index + 1;
  }
  const rows: Row[] = [];
  for (let start = 0; start < ids.length; start += listLengthMax) {
    if (start > 0) await yieldWork(work);
    rows.push(...(await rowsByTie<Row>(scope, ids.slice(start, start + listLengthMax), queries)));
  }
  work?.examined(2 * rows.length); // each is looked up by its key, which costs twice a row of a listing
  return { rows: distinctRows(rows), reached };
}

/** Reads all rows in some cells, about `rowsPerChunk` with each statement. */
export async function* chunksIn<Row extends { readonly id: string }>(
  scope: Scope,
  cells: readonly CellRange[],
  rowsPerChunk: number,
  queries: Queries,
  work: CallWork | undefined,
): AsyncGenerator<readonly Row[], void, undefined> {
  const [first, ...others] = cells;
  if (first === undefined) return;
  if (others.length === 0) {
    yield* eachChunk(rowsByCell<Row>(scope, first, queries), rowsPerChunk, work);
    return;
  }
  if (!(await hasMoreInCells(scope, cells, rowsPerChunk, queries))) {
    // Rows may have been added since the count.
    const rows = await rowsInCells<Row>([scope], cells, rowsPerChunk * 2, queries);
    if (rows.length < rowsPerChunk * 2) {
      yield rows;
      return;
    }
  }
  const middleAt = cells.length >> 1;
  for (const half of [cells.slice(0, middleAt), cells.slice(middleAt)]) {
    await yieldWork(work);
    yield* chunksIn<Row>(scope, half, rowsPerChunk, queries, work);
  }
}
