import { cellsOfRange, cellsOfRing, isInRange } from "../lib/cells.ts";
import type { Key } from "../lib/keyset.ts";
import { distanceMeters, halfRoundMeters, type Location, type LocationRange } from "../lib/locations.ts";
import type { Order } from "./conditions.ts";
import type { Queries } from "./database.ts";
import { hasMoreInCells, rowsInCells, type Scope, scopeInCells, scopeStream } from "./scope.ts";
import {
  distinctRows,
  filterStream,
  isOnSide,
  mergeStreams,
  type Stream,
  sortRows,
  streamOf,
  type Take,
} from "./stream.ts";

/** The part of the map that is searched. */
export interface Area<Row> {
  /** The table that is searched. */
  readonly table: string;
  readonly range: LocationRange;
  /** Where the caller sees the row: what the search goes by, and nothing else. */
  locationOf(row: Row): Location | undefined;
  /** The listing runs by the distance from the middle of the area. */
  readonly isByDistance: boolean;
}

/** As many rows are read at once without asking how many there are. */
const fewRows = 128;
/** More rows than this are not gathered in memory. */
const rowsGatheredMax = 2_000;
/** Each range costs a search in the index, and each one less lets some rows in that lie outside. */
const rangesMax = 6;

/**
 * The rows of some scopes that lie in an area. An index has them either in the order of the listing or by their place, so:
 *
 * - few rows in the area are gathered by their cells, and ordered in memory;
 * - else the listing is walked in its own order, and what lies outside is left out: where many lie inside, a page is
 *   full soon;
 * - by distance, many rows are gathered ring by ring.
 *
 * Cells only choose: what decides is the exact distance, or the exact box.
 */
export async function areaStream<Row extends { readonly id: string }>(
  scopes: readonly [Scope, ...Scope[]],
  area: Area<Row>,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Promise<Stream<Row>> {
  const rowOrder: RowOrder<Row> = { isDescending, keyOf: area.isByDistance ? distanceKey(area) : order.keyOf };
  const isIn = (row: Row) => isInArea(area, row);
  const cells = cellsOfRange(area.range, rangesMax);

  const few = await rowsInCells<Row>(scopes, cells, fewRows, queries);
  if (few.length < fewRows) return streamOf(distinctRows(few.filter(isIn)), rowOrder);

  async function streamOfScope(scope: Scope): Promise<Stream<Row>> {
    if (!(await hasMoreInCells(scope, cells, rowsGatheredMax, queries))) {
      const rows = await rowsInCells<Row>([scope], cells, rowsGatheredMax * 2, queries); // some may have come since
      if (rows.length < rowsGatheredMax * 2) return streamOf(rows.filter(isIn), rowOrder);
    }
    if (area.isByDistance) return ringStream(scope, area, rowOrder, queries);
    return filterStream(scopeStream(scopeInCells(scope, area.table, cells), order, isDescending, queries), isIn);
  }
  const [first, ...others] = scopes;
  return mergeStreams([await streamOfScope(first), ...(await Promise.all(others.map(streamOfScope)))]);
}

type RowOrder<Row> = Pick<Stream<Row>, "keyOf" | "isDescending">;

function distanceKey<Row extends { readonly id: string }>(area: Area<Row>): (row: Row) => Key {
  const middle = middleOf(area.range);
  return (row) => {
    const location = area.locationOf(row);
    return [location === undefined ? 0 : distanceMeters(middle, location), row.id]; // rows of an area have one
  };
}

function isInArea<Row>({ range, locationOf }: Area<Row>, row: Row): boolean {
  const location = locationOf(row);
  return location !== undefined && isInRange(location, range);
}

/** Rows closer together than this are not told apart by rings. */
const ringMetersMin = 2;
/**
 * Nor are rings made narrower than this part of their radius: the cells of a ring reach so far beyond it that they would
 * hold the same rows, and one crowded place near it would be read again with every step of a few meters.
 */
const ringShareMin = 1 / 64;

/** Rows by distance, gathered ring by ring from the bound on, each ring as wide as holds a page or two. */
function ringStream<Row>(scope: Scope, area: Area<Row>, order: RowOrder<Row>, queries: Queries): Stream<Row> {
  const { range } = area;
  const middle = middleOf(range);
  const farthest = Math.min(boundingRadius(range), halfRoundMeters);

  /** The rows of a ring, or undefined when they are too many and the ring can be made narrower. */
  async function gatherRing(inner: number, outer: number): Promise<Row[] | undefined> {
    const isNarrowest = outer - inner <= Math.max(ringMetersMin, outer * ringShareMin);
    const count = isNarrowest ? Number.MAX_SAFE_INTEGER : rowsGatheredMax;
    const cells = cellsOfRing(middle, inner, outer);
    const found = await rowsInCells<Row>([scope], cells, count, queries);
    return found.length < count ? found : undefined;
  }

  return {
    ...order,
    async take({ direction, bound, count }: Take) {
      const isInward = order.isDescending === (direction === "forward");
      const taken: Row[] = [];
      let edge = bound === undefined ? (isInward ? farthest : 0) : Number(bound.key[0]);
      let isFirst = true;
      for (let width = farthest / 64; ; ) {
        const next = isInward ? Math.max(edge - width, 0) : Math.min(edge + width, farthest);
        const [inner, outer] = isInward ? [next, edge] : [edge, next];
        const ring = await gatherRing(inner, outer);
        if (ring === undefined) {
          width /= 4;
          continue;
        }
        for (const row of ring) {
          const key = order.keyOf(row);
          const meters = Number(key[0]);
          const isInRing = meters >= inner && meters <= outer && (isFirst || meters !== edge); // else of the ring before
          if (isInRing && isInArea(area, row) && (bound === undefined || isOnSide(order, key, bound))) taken.push(row);
        }
        if (taken.length >= count || next === (isInward ? 0 : farthest)) {
          return sortRows(taken, order, direction).slice(0, count);
        }
        edge = next;
        isFirst = false;
        width *= 2;
        await new Promise(setImmediate);
      }
    },
  };
}

/** No point of the area is farther from its middle: one goes along a meridian first, then along a parallel. */
function boundingRadius(range: LocationRange): number {
  if (range.shape === "circle") return range.radiusMeters;
  const height = range.northEast.lat - range.southWest.lat;
  return ((height + widthOf(range)) / 2 / 180) * halfRoundMeters * 1.001;
}

function middleOf(range: LocationRange): Location {
  if (range.shape === "circle") return range.center;
  const { southWest, northEast } = range;
  const lng = southWest.lng + widthOf(range) / 2;
  return { lat: (southWest.lat + northEast.lat) / 2, lng: lng > 180 ? lng - 360 : lng };
}

/** In degrees, from the west to the east of a box. */
function widthOf({ southWest, northEast }: LocationRange & { shape: "box" }): number {
  const width = northEast.lng - southWest.lng;
  return width < 0 ? width + 360 : width;
}
