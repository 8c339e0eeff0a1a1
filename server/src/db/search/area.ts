import { type CallWork, yieldWork } from "../../lib/call-work.ts";
import { type CellRange, cellsOfRange, cellsOfRing, centerOfCell, isInRange } from "../../lib/cells.ts";
import type { Key } from "../../lib/keyset.ts";
import { antipodalMeters, distanceMeters, type Location, type LocationRange } from "../../lib/locations.ts";
import type { Queries } from "../database.ts";
import type { Order } from "./conditions.ts";
import { listLengthMax } from "./list-lengths.ts";
import { type CellEntry, entriesOf, hasMoreInCells, rowsByCell, rowsByTie, rowsInCells, type Scope } from "./scope.ts";
import {
  distinctRows,
  eachChunk,
  isOnSide,
  mergeStreams,
  type Stream,
  sortRows,
  streamOf,
  type Take,
} from "./stream.ts";

/** The region of the map to search. */
export interface Area<Row> {
  readonly range: LocationRange;
  /** The row's location as the caller sees it; the search uses no other one. */
  locationOf(row: Row): Location | undefined;
  /** The listing is ordered by distance from the center of the area. */
  readonly isByDistance: boolean;
}

/** Up to this many rows are read in one statement without counting them first. */
const fewRows = 128;
/** Larger results are not gathered in one step, because reading them blocks the event loop on SQLite. */
const rowsGatheredMax = 1_000;
/** Each range costs an index search; fewer ranges match more rows outside the area. */
const rangesMax = 6;

/** The ranges of cells by which a walk in another order preselects rows. */
export function cellsToWalk<Row>({ range }: Area<Row>): CellRange[] {
  return cellsOfRange(range, rangesMax);
}

/** Decides by the exact distance or box; cells only preselect rows. */
export function isInArea<Row>({ range, locationOf }: Area<Row>, row: Row): boolean {
  const location = locationOf(row);
  return location !== undefined && isInRange(location, range);
}

/** The order of a listing, which may be by distance. */
export function orderInArea<Row extends { readonly id: string }>(
  area: Area<Row>,
  order: Order<Row>,
  isDescending: boolean,
): RowOrder<Row> {
  return { isDescending, keyOf: area.isByDistance ? distanceKey(area) : order.keyOf };
}

/** Returns the rows in an area, sorted in memory, if there are few of them. */
export async function fewRowsInArea<Row extends { readonly id: string }>(
  scopes: readonly [Scope, ...Scope[]],
  area: Area<Row>,
  order: RowOrder<Row>,
  queries: Queries,
  work: CallWork | undefined,
): Promise<Stream<Row> | undefined> {
  const cells = cellsToWalk(area);
  const few = await rowsInCells<Row>(scopes, cells, fewRows, queries);
  work?.examined(few.length);
  const isIn = (row: Row) => isInArea(area, row);
  if (few.length < fewRows) return streamOf(distinctRows(few.filter(isIn)), order);
  // Rings read only the rows next to the page.
  if (area.isByDistance) return undefined;

  const gathered: Row[] = [];
  for (const scope of scopes) {
    await yieldWork(work);
    if (await hasMoreInCells(scope, cells, rowsGatheredMax, queries)) return undefined;
    // Rows may have been added since the count.
    const rows = await rowsInCells<Row>([scope], cells, rowsGatheredMax * 2, queries);
    work?.examined(rows.length);
    if (rows.length === rowsGatheredMax * 2) return undefined;
    for (const row of rows) if (isIn(row)) gathered.push(row);
  }
  return streamOf(distinctRows(gathered), order);
}

/** Streams the rows in an area by distance from its center, however many there are. */
export function distanceStream<Row extends { readonly id: string }>(
  scopes: readonly [Scope, ...Scope[]],
  area: Area<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const order = { isDescending, keyOf: distanceKey(area) };
  const [first, ...others] = scopes;
  return mergeStreams([ringStream(first), ...others.map(ringStream)]);

  function ringStream(scope: Scope): Stream<Row> {
    return createRingStream(scope, area, order, queries);
  }
}

type RowOrder<Row> = Pick<Stream<Row>, "keyOf" | "isDescending">;

function distanceKey<Row extends { readonly id: string }>(area: Area<Row>): (row: Row) => Key {
  const middle = middleOf(area.range);
  // Sorting, merging and filtering need the key of a row many times.
  const keys = new Map<Row, Key>();
  return (row) => {
    let key = keys.get(row);
    if (key === undefined) {
      const location = area.locationOf(row);
      // Every row of an area has a location.
      key = [location === undefined ? 0 : distanceMeters(middle, location), row.id];
      keys.set(row, key);
    }
    return key;
  };
}

/** How many times wider than a ring the next one is at most. */
const widerMax = 8;
/** Rows are not spread evenly, so a ring is made large enough for more rows than are missing. */
const spareRows = 1.5;
/** Rings are not narrowed below this width. */
const ringMetersMin = 2;
/**
 * A ring is at least this fraction of its radius wide: its cells extend so far beyond a narrower ring that every step
 * would read the same crowded rows again.
 */
const ringShareMin = 1 / 64;
/** Index entries per statement when a ring holds many rows. */
const crowdEntriesPerChunk = 4_000;
/** This number of index entries of a crowd costs as much as a row. */
const entriesPerRow = 8;
/** A location is less than this away from the middle of its cell, rounding included. */
const cellMetersMax = 1;
/** A crowded ring justifies more ranges, which match fewer rows outside the ring. */
const crowdRangesMax = 96;
/**
 * A ring that is thin compared to its radius also justifies more ranges: a few would match many times as many rows as
 * it has.
 */
const thinShare = 1 / 4;
/** Wide rings match fewer rows outside of them, so an offset skips this many rows in one step. */
const skipRows = 4_000;
/** A ring has at most this many times the wanted rows. */
const spareRowsMax = 2;

/** The progress of a walk from ring to ring. */
interface RingWalk<Row> {
  readonly isInward: boolean;
  /** The rows between the start of the walk and its edge, in walk order. */
  rows: Row[];
  start: number;
  edge: number;
  /** True when there are no rows beyond the edge. */
  isDone: boolean;
  width: number;
  /** The rest of a ring beyond the edge, if it is a crowd. */
  crowd?: Crowd | undefined;
}

/**
 * Many rows of a ring, represented by the entries of the index of cells: a cell is small enough to decide which rows
 * are next, and only these are read.
 */
interface Crowd {
  /** In walk order. */
  readonly entries: readonly { readonly id: string; readonly meters: number }[];
  /** The first entry whose row may be beyond the edge of the walk. */
  first: number;
  /** The outer edge of the ring. */
  readonly end: number;
}

/**
 * Streams rows by distance, ring by ring from the bound. The ring width adapts to hold a page or two. A call that
 * continues where the previous one stopped continues the same walk, so each ring is read once.
 */
function createRingStream<Row extends { readonly id: string }>(
  scope: Scope,
  area: Area<Row>,
  order: RowOrder<Row>,
  queries: Queries,
): Stream<Row> {
  const { range } = area;
  const middle = middleOf(range);
  const farthest = Math.min(boundingRadius(range), antipodalMeters);
  const entryScope = entriesOf(scope);
  let walk: RingWalk<Row> | undefined;

  /**
   * Returns the rows of a ring, or its crowd if there are many, or undefined if the ring can be narrowed. Counts the rows before
   * reading them, because a row costs many times its index entry.
   */
  async function gatherRing(
    { isInward, edge }: RingWalk<Row>,
    next: number,
    wanted: number,
    work: CallWork | undefined,
  ): Promise<{ readonly rows: readonly Row[] } | { readonly crowd: Crowd } | undefined> {
    const [inner, outer] = isInward ? [next, edge] : [edge, next];
    const isThin = outer - inner < outer * thinShare;
    const cells = cellsOfRing(middle, inner, outer, isThin ? crowdRangesMax : undefined);
    const isNarrowest = outer - inner <= Math.max(ringMetersMin, outer * ringShareMin);
    const rowsMax = Math.max(Math.min(Math.max(wanted * 4, fewRows), rowsGatheredMax), wanted * spareRowsMax);
    const hasMore = await hasMoreInCells(scope, cells, rowsMax, queries);
    if (!hasMore) return { rows: await gatherRows(cells, rowsMax, work) };
    return isNarrowest ? { crowd: await gatherCrowd(inner, outer, isInward, work) } : undefined;
  }

  async function gatherRows(
    cells: readonly CellRange[],
    rowsMax: number,
    work: CallWork | undefined,
  ): Promise<readonly Row[]> {
    if (rowsMax <= rowsGatheredMax) {
      const found = await rowsInCells<Row>([scope], cells, rowsGatheredMax, queries);
      work?.examined(found.length);
      if (found.length < rowsGatheredMax) return found; // otherwise rows have been added since the count
    }
    const rows: Row[] = [];
    for await (const chunk of chunksIn<Row>(scope, cells, rowsGatheredMax, queries, work)) rows.push(...chunk);
    work?.examined(2 * rows.length); // twice, because they are sorted as well
    return rows;
  }

  async function gatherCrowd(
    inner: number,
    outer: number,
    isInward: boolean,
    work: CallWork | undefined,
  ): Promise<Crowd> {
    const entries: { id: string; meters: number }[] = [];
    const cells = cellsOfRing(middle, inner, outer, crowdRangesMax);
    let examined = 0;
    for await (const chunk of chunksIn<CellEntry>(entryScope, cells, crowdEntriesPerChunk, queries, work)) {
      examined += chunk.length;
      for (const { id, entry_cell } of chunk) {
        const meters = distanceMeters(middle, centerOfCell(entry_cell));
        if (meters >= inner - cellMetersMax && meters <= outer + cellMetersMax) entries.push({ id, meters });
      }
    }
    work?.examined(Math.ceil(examined / entriesPerRow));
    entries.sort(isInward ? (a, b) => b.meters - a.meters : (a, b) => a.meters - b.meters);
    return { entries, first: 0, end: isInward ? inner : outer };
  }

  /** Reads the next rows of a crowd, and moves the edge of the walk behind them. */
  async function widenInCrowd(to: RingWalk<Row>, crowd: Crowd, wanted: number, work: CallWork | undefined) {
    const { entries, first, end } = crowd;
    const sign = to.isInward ? -1 : 1;
    const last = entries[first + Math.max(wanted - to.rows.length, fewRows) - 1];
    const reached = last === undefined ? end : last.meters + sign * cellMetersMax;
    const next = sign * (end - reached) <= 0 ? end : reached;
    const ids: string[] = [];
    let index = first;
    for (let entry = entries[index]; entry !== undefined; entry = entries[++index]) {
      const beyond = sign * (entry.meters - next);
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
    advance(to, distinctRows(rows), next);
    if (next === end) to.crowd = undefined;
  }

  /** Adds the rows of a ring to the walk, and moves its edge. @returns how many of them are in the ring and the area */
  function advance(to: RingWalk<Row>, ring: readonly Row[], next: number): number {
    const { isInward, edge, start } = to;
    const [inner, outer] = isInward ? [next, edge] : [edge, next];
    const isNew = (meters: number) => meters >= inner && meters <= outer && (edge === start || meters !== edge);
    const rows = ring.filter((row) => isNew(Number(order.keyOf(row)[0])) && isInArea(area, row));
    to.rows.push(...sortRows(rows, order, directionOf(isInward)));
    to.edge = next;
    to.isDone = next === (isInward ? 0 : farthest);
    return rows.length;
  }

  async function widen(to: RingWalk<Row>, wanted: number, work: CallWork | undefined): Promise<void> {
    const { isInward, edge } = to;
    for (;;) {
      if (to.crowd !== undefined) return widenInCrowd(to, to.crowd, wanted, work);
      const next = isInward ? Math.max(edge - to.width, 0) : Math.min(edge + to.width, farthest);
      const ring = await gatherRing(to, next, wanted, work);
      if (ring === undefined) {
        to.width /= 4;
        await yieldWork(work);
        continue;
      }
      if ("crowd" in ring) {
        to.crowd = ring.crowd;
        continue;
      }
      const count = advance(to, ring.rows, next);
      const missing = Math.max(wanted - to.rows.length, 1);
      const enough = widthFor(missing, { edge, next, count }, isInward);
      to.width = Math.min(Math.max(enough, to.width * 2), to.width * widerMax);
      return;
    }
  }

  function directionOf(isInward: boolean): Take["direction"] {
    return order.isDescending === isInward ? "forward" : "backward";
  }

  function beginAt(isInward: boolean, bound: Take["bound"]): RingWalk<Row> {
    const start = bound === undefined ? (isInward ? farthest : 0) : Number(bound.key[0]);
    return { isInward, rows: [], start, edge: start, isDone: false, width: farthest / 64 };
  }

  /** Returns the walk of the previous call if it has gathered the rows at the bound. */
  function continueWalk(isInward: boolean, bound: Take["bound"]): RingWalk<Row> | undefined {
    if (walk === undefined || walk.isInward !== isInward || bound === undefined) return undefined;
    const meters = Number(bound.key[0]);
    const isWithin = isInward ? meters <= walk.start && meters > walk.edge : meters >= walk.start && meters < walk.edge;
    if (!isWithin) return undefined;
    walk.rows = walk.rows.filter((row) => isOnSide(order, order.keyOf(row), bound));
    walk.start = meters;
    return walk;
  }

  return {
    ...order,
    skipRows,
    async take({ direction, bound, count }, work) {
      const isInward = order.isDescending === (direction === "forward");
      const now = continueWalk(isInward, bound) ?? beginAt(isInward, bound);
      walk = now;
      for (let isFirst = true; ; isFirst = false) {
        const rows =
          bound === undefined ? now.rows : now.rows.filter((row) => isOnSide(order, order.keyOf(row), bound));
        if (rows.length >= count || now.isDone) return { rows: rows.slice(0, count) };
        if (!isFirst && work?.isExhausted()) return { rows, reached: keyOfEdge(now) };
        await yieldWork(work);
        await widen(now, count, work);
      }
    },
  };
}

/** The width of the next ring that probably has this number of rows, if they are as dense there as in this one. */
function widthFor(
  wanted: number,
  { edge, next, count }: { readonly edge: number; readonly next: number; readonly count: number },
  isInward: boolean,
): number {
  const [inner, outer] = isInward ? [next, edge] : [edge, next];
  const area = ((outer ** 2 - inner ** 2) / count) * wanted * spareRows;
  return isInward ? inner - Math.sqrt(Math.max(inner ** 2 - area, 0)) : Math.sqrt(outer ** 2 + area) - outer;
}

/** Reads all rows in some cells, about `rowsPerChunk` with each statement. */
async function* chunksIn<Row extends { readonly id: string }>(
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

/** A key between the rows up to the edge, edge included, and the rows beyond it. */
function keyOfEdge({ isInward, edge }: Pick<RingWalk<never>, "isInward" | "edge">): Key {
  return [isInward ? edge : nextNumber(edge), ""];
}

/** The smallest number greater than a non-negative one. */
function nextNumber(number: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  view.setBigInt64(0, view.getBigInt64(0) + 1n);
  return view.getFloat64(0);
}

/** An upper bound of the distance from the center: along a meridian, then along a parallel. */
function boundingRadius(range: LocationRange): number {
  if (range.shape === "circle") return range.radiusMeters;
  const height = range.northEast.lat - range.southWest.lat;
  return ((height + widthOf(range)) / 2 / 180) * antipodalMeters * 1.001;
}

/** The center of a circle or the middle of a box, from which distances are measured. */
export function middleOf(range: LocationRange): Location {
  if (range.shape === "circle") return range.center;
  const { southWest, northEast } = range;
  const lng = southWest.lng + widthOf(range) / 2;
  return { lat: (southWest.lat + northEast.lat) / 2, lng: lng > 180 ? lng - 360 : lng };
}

/** The width of a box in degrees, from west to east. */
function widthOf({ southWest, northEast }: LocationRange & { shape: "box" }): number {
  const width = northEast.lng - southWest.lng;
  return width < 0 ? width + 360 : width;
}
