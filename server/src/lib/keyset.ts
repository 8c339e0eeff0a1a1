/** The values of the ordering columns of one row: unique in its listing. */
export type Key = readonly (string | number)[];

/** Where a page lies relative to a key, in a listing that runs from the greatest key to the smallest. */
export type Side = "after" | "from" | "before" | "until";

/** Where a page lies. `from` and `until` include the row of the key, `after` and `before` do not. */
export type Position =
  | { readonly at: "start" | "end" }
  | { readonly at: "offset"; readonly offset: number }
  | { readonly at: Side; readonly key: Key };

/** The side that has exactly the rows which the other one has not. */
export const oppositeSide: Readonly<Record<Side, Side>> = {
  after: "until",
  until: "after",
  before: "from",
  from: "before",
};

/** One page of rows, in the order of the listing, and whether there are rows on either side of it. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}
