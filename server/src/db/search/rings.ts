import { type CallWork, yieldWork } from "../../lib/call-work.ts";
import { type CellRange, cellsOfRing } from "../../lib/cells.ts";
import type { Key } from "../../lib/keyset.ts";
import { antipodalMeters } from "../../lib/locations.ts";
import type { Queries } from "../database.ts";
import {
  type Area,
  boundingRadius,
  distanceKey,
  fewRows,
  isInArea,
  middleOf,
  type RowOrder,
  rowsGatheredMax,
} from "./area.ts";
import { type Crowd, chunksIn, crowdRangesMax, gatherCrowd, readCrowd, type Surroundings } from "./crowd.ts";
import { entriesOf, hasMoreInCells, rowsInCells, type Scope } from "./scope.ts";
import { isOnSide, mergeStreams, type Stream, sortRows, type Take } from "./stream.ts";

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
/**
 * A ring that is thin compared to its radius also justifies more ranges: a few would match many times as many rows as
 * it has.
 */
const thinShare = 1 / 4;
/** Wide rings match fewer rows outside of them, so an offset skips this many rows in one step. */
const skipRows = 4_000;
/** A ring has at most this many times the wanted rows. */
const spareRowsMax = 2;

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

/** The rows of an area around its middle. */
interface Rings<Row> extends Surroundings {
  readonly area: Area<Row>;
  readonly order: RowOrder<Row>;
  /** No row of the area is farther from the middle. */
  readonly farthest: number;
}

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
 * Streams rows by distance, ring by ring from the bound. The ring width adapts to hold a page or two. A call that
 * continues where the previous one stopped continues the same walk, so each ring is read once.
 */
function createRingStream<Row extends { readonly id: string }>(
  scope: Scope,
  area: Area<Row>,
  order: RowOrder<Row>,
  queries: Queries,
): Stream<Row> {
  const farthest = Math.min(boundingRadius(area.range), antipodalMeters);
  const rings = { scope, entryScope: entriesOf(scope), middle: middleOf(area.range), queries, area, order, farthest };
  let walk: RingWalk<Row> | undefined;

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
        await widen(now, rings, count, work);
      }
    },
  };
}

/** Adds the next rows to the walk. */
async function widen<Row extends { readonly id: string }>(
  walk: RingWalk<Row>,
  rings: Rings<Row>,
  wanted: number,
  work: CallWork | undefined,
): Promise<void> {
  const { isInward, edge } = walk;
  for (;;) {
    const { crowd } = walk;
    if (crowd !== undefined) {
      const { rows, reached } = await readCrowd<Row>(rings, crowd, wanted - walk.rows.length, work);
      advance(walk, rings, rows, reached);
      if (reached === crowd.end) walk.crowd = undefined;
      return;
    }
    const next = isInward ? Math.max(edge - walk.width, 0) : Math.min(edge + walk.width, rings.farthest);
    const ring = await gatherRing(walk, rings, next, wanted, work);
    if (ring === undefined) {
      walk.width /= 4;
      await yieldWork(work);
      continue;
    }
    if ("crowd" in ring) {
      walk.crowd = ring.crowd;
      continue;
    }
    const count = advance(walk, rings, ring.rows, next);
    const missing = Math.max(wanted - walk.rows.length, 1);
    const enough = widthFor(missing, { edge, next, count }, isInward);
    walk.width = Math.min(Math.max(enough, walk.width * 2), walk.width * widerMax);
    return;
  }
}

/** Adds the rows of a ring to the walk, and moves its edge. @returns how many of them are in the ring and the area */
function advance<Row extends { readonly id: string }>(
  walk: RingWalk<Row>,
  { area, order, farthest }: Rings<Row>,
  ring: readonly Row[],
  next: number,
): number {
  const { isInward, edge, start } = walk;
  const [inner, outer] = isInward ? [next, edge] : [edge, next];
  const isNew = (meters: number) => meters >= inner && meters <= outer && (edge === start || meters !== edge);
  const rows = ring.filter((row) => isNew(Number(order.keyOf(row)[0])) && isInArea(area, row));
  walk.rows.push(...sortRows(rows, order, order.isDescending === isInward ? "forward" : "backward"));
  walk.edge = next;
  walk.isDone = next === (isInward ? 0 : farthest);
  return rows.length;
}

/**
 * Returns the rows of a ring, or its crowd if there are many, or undefined if the ring can be narrowed. Counts the rows
 * before reading them, because a row costs many times its index entry.
 */
async function gatherRing<Row extends { readonly id: string }>(
  { isInward, edge }: RingWalk<Row>,
  rings: Rings<Row>,
  next: number,
  wanted: number,
  work: CallWork | undefined,
): Promise<{ readonly rows: readonly Row[] } | { readonly crowd: Crowd } | undefined> {
  const { scope, middle, queries } = rings;
  const [inner, outer] = isInward ? [next, edge] : [edge, next];
  const isThin = outer - inner < outer * thinShare;
  const cells = cellsOfRing(middle, inner, outer, isThin ? crowdRangesMax : undefined);
  const isNarrowest = outer - inner <= Math.max(ringMetersMin, outer * ringShareMin);
  const rowsMax = Math.max(Math.min(Math.max(wanted * 4, fewRows), rowsGatheredMax), wanted * spareRowsMax);
  const hasMore = await hasMoreInCells(scope, cells, rowsMax, queries);
  if (!hasMore) return { rows: await gatherRows<Row>(rings, cells, rowsMax, work) };
  return isNarrowest ? { crowd: await gatherCrowd(rings, [inner, outer], isInward, work) } : undefined;
}

async function gatherRows<Row extends { readonly id: string }>(
  { scope, queries }: Surroundings,
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
