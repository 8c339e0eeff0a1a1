import type { Page, Position } from "../lib/keyset.ts";
import { type Area, areaStream } from "./area.ts";
import type { Order } from "./conditions.ts";
import type { Queries } from "./database.ts";
import { readPage } from "./page.ts";
import { type Scope, scopeStream } from "./scope.ts";
import { mergeStreams } from "./stream.ts";

/**
 * The one way to list and search (surface.md section 3). A search is put together from parts that an index answers:
 *
 * ```
 * scopes   own rows ─┐
 *          shared   ─┼─ merged ─── page      walked from the page's key on, in the order of an index
 * area     cells ────┘                       few rows: gathered and ordered here; many: walked and tested
 * ```
 *
 * No statement of it counts or sorts what is not returned.
 */
export interface Search<Row> {
  /** What may be read, as parts. A row that is in several is found once. */
  readonly scopes: readonly [Scope, ...Scope[]];
  readonly order: Order<Row>;
  readonly isDescending: boolean;
  readonly area?: Area<Row> | undefined;
}

/** Reads a page of a search. */
export async function searchPage<Row extends { readonly id: string }>(
  search: Search<Row>,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<Row>> {
  const { scopes, order, isDescending, area } = search;
  const [first, ...others] = scopes;
  const stream =
    area === undefined
      ? mergeStreams([streamOf(first), ...others.map(streamOf)])
      : await areaStream(scopes, area, order, isDescending, queries);
  return readPage(stream, position, size);

  function streamOf(scope: Scope) {
    return scopeStream(scope, order, isDescending, queries);
  }
}
