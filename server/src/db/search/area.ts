import { type CallWork, yieldWork } from "../../lib/call-work.ts";
import { type CellRange, cellsOfRange, isInRange } from "../../lib/cells.ts";
import type { Key } from "../../lib/keyset.ts";
import { antipodalMeters, distanceMeters, type Location, type LocationRange } from "../../lib/locations.ts";
import type { Queries } from "../database.ts";
import type { Order } from "./conditions.ts";
import { hasMoreInCells, rowsInCells, type Scope } from "./scope.ts";
import { distinctRows, type Stream, streamOf } from "./stream.ts";

/** The region of the map to search. */
export interface Area<Row> {
  readonly range: LocationRange;
  /** The row's location as the caller sees it; the search uses no other one. */
  locationOf(row: Row): Location | undefined;
  /** The listing is ordered by distance from the center of the area. */
  readonly isByDistance: boolean;
}

/** Up to this many rows are read in one statement without counting them first. */
export const fewRows = 128;
/** Larger results are not gathered in one step, because reading them blocks the event loop on SQLite. */
export const rowsGatheredMax = 1_000;
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

export type RowOrder<Row> = Pick<Stream<Row>, "keyOf" | "isDescending">;

export function distanceKey<Row extends { readonly id: string }>(area: Area<Row>): (row: Row) => Key {
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

/** An upper bound of the distance from the center: along a meridian, then along a parallel. */
export function boundingRadius(range: LocationRange): number {
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
