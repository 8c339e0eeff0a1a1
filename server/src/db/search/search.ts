import type { CallWork } from "../../lib/call-work.ts";
import type { CellRange } from "../../lib/cells.ts";
import type { Page, Position } from "../../lib/keyset.ts";
import type { Queries } from "../database.ts";
import { type Area, cellsToWalk, fewRowsInArea, isInArea, orderInArea } from "./area.ts";
import type { Condition, Order } from "./conditions.ts";
import { readPage } from "./page.ts";
import { distanceStream } from "./rings.ts";
import { type Scope, scopeStream, streamInCells } from "./scope.ts";
import { filterStream, mergeStreams, type Stream, streamOf } from "./stream.ts";

/**
 * The one implementation of listing and searching (spec/search#search-work). A search is composed of parts that an
 * index answers:
 *
 * ```
 * scopes   own rows ─┐
 *          shared   ─┼─ merged ─── page      walked from the page's key on, in the order of an index
 * filters, area     ─┘                       few rows: gathered and sorted here; many: walked and tested
 * ```
 *
 * No statement counts, sorts or scans rows that it does not return: conditions without an index are tested here,
 * between statements of a bounded number of rows, so that an expensive call can stop.
 */
export interface Search<Row> {
  /** The readable rows, as parts. A row that is in several is returned once. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly filters?: readonly Filter<Row>[];
  readonly order: Order<Row>;
  readonly isDescending: boolean;
  readonly area?: Area<Row> | undefined;
}

/** A condition that a caller adds to a search. */
export interface Filter<Row> {
  /** The condition in SQL, written as the index requires if there is one. */
  readonly conditions: readonly Condition[];
  /** The same condition for a row that was found without it. */
  isIn(row: Row): boolean;
  /** An index in which the matching rows are adjacent, if there is one. */
  readonly index?: FilterIndex<Row>;
}

export interface FilterIndex<Row> {
  /** The order of the matching rows in the index. */
  readonly order: Order<Row>;
  /** For an equality: the name of the order in whose index all matching rows are equal. */
  readonly alikeIn?: string;
}

/**
 * Reads a page of a search.
 *
 * @param work when its budget is exhausted, the page has the rows found so far, and the position where the next page
 * continues
 * @throws Abandoned
 */
export async function searchPage<Row extends { readonly id: string }>(
  search: Search<Row>,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<Row>> {
  return readPage(await searchStream(search, queries, work), position, size, work);
}

/** Up to this many matching rows are gathered and sorted in memory. */
export const rowsGatheredMax = 500;

async function searchStream<Row extends { readonly id: string }>(
  { scopes, filters = [], order, isDescending, area }: Search<Row>,
  queries: Queries,
  work: CallWork | undefined,
): Promise<Stream<Row>> {
  const answered = area?.isByDistance ? [] : answeredByOrder(filters, order);
  const tested = filters.filter((filter) => !answered.includes(filter));
  const isIn = (row: Row) => tested.every((filter) => filter.isIn(row)) && (area === undefined || isInArea(area, row));
  if (tested.length === 0 && area === undefined) return walk(scopes, answered, order, isDescending);

  const listed = area === undefined ? { ...order, isDescending } : orderInArea(area, order, isDescending);
  for (const { index, ...filter } of area === undefined ? tested : filters) {
    const gathered = index && (await gather(walk(scopes, [filter], index.order, true)));
    if (gathered === undefined) continue;
    const isInAll = (row: Row) => isIn(row) && filters.every((each) => each.isIn(row));
    return streamOf(gathered.filter(isInAll), listed);
  }
  if (area !== undefined) {
    const few = await fewRowsInArea(scopes, area, listed, queries, work);
    if (few !== undefined) return filterStream(few, (row) => filters.every((filter) => filter.isIn(row)));
    if (area.isByDistance) return filterStream(distanceStream(scopes, area, isDescending, queries), isIn);
  }
  return filterStream(walk(scopes, answered, order, isDescending, area && cellsToWalk(area)), isIn);

  function walk(
    [first, ...others]: typeof scopes,
    by: readonly Pick<Filter<Row>, "conditions">[],
    inOrder: Order<Row>,
    isDown: boolean,
    cells?: readonly CellRange[],
  ): Stream<Row> {
    const conditions = by.flatMap((filter) => filter.conditions);
    function streamOfScope(each: Scope): Stream<Row> {
      const scope = { ...each, conditions: [...each.conditions, ...conditions] };
      return cells !== undefined && scope.isKeyedById
        ? streamInCells(scope, cells, inOrder, isDown, queries)
        : scopeStream(scope, inOrder, isDown, queries);
    }
    return mergeStreams([streamOfScope(first), ...others.map(streamOfScope)]);
  }

  /** Reads all rows of a stream if there are few. */
  async function gather(stream: Stream<Row>): Promise<Row[] | undefined> {
    await work?.pause();
    const { rows } = await stream.take({ direction: "forward", count: rowsGatheredMax + 1 }, work);
    return rows.length > rowsGatheredMax ? undefined : rows;
  }
}

/** Returns the filters that the index of the listing's order answers, so that the walk reads only their rows. */
function answeredByOrder<Row>(filters: readonly Filter<Row>[], order: Order<Row>): Filter<Row>[] {
  const equality =
    filters.find(({ index }) => index?.alikeIn === order.shape) ??
    filters.find(({ index }) => index?.alikeIn !== undefined && index.order.shape === order.shape);
  const walked = equality?.index?.order.shape ?? order.shape;
  const ranges = filters.filter(
    ({ index }) => index !== undefined && index.alikeIn === undefined && index.order.shape === walked,
  );
  return [...(equality === undefined ? [] : [equality]), ...ranges];
}
