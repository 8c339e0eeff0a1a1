/** The values of a row in the ordering columns, unique within the listing. */
export type Key = readonly (string | number)[];

/** The position of a page relative to a key, in the order of the listing. */
export type Side = "after" | "from" | "before" | "until";

/** The position of a page. `from` and `until` include the row of the key, `after` and `before` do not. */
export type Position =
  | { readonly at: "start" | "end" }
  /** This many rows after the start, or after a key. */
  | { readonly at: "offset"; readonly offset: number; readonly after?: Key }
  /**
   * `hasRowsBehind`: whether there are rows on the other side; undefined if the previous page has not determined it.
   */
  | { readonly at: Side; readonly key: Key; readonly hasRowsBehind?: boolean };

/** Maps each side to its complement, which has exactly the other rows. */
export const oppositeSide: Readonly<Record<Side, Side>> = {
  after: "until",
  until: "after",
  before: "from",
  from: "before",
};

/** A page of rows in the order of the listing, and whether there are rows before and after it. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** The position of the next page, if it is not the position after the last row. */
  readonly next?: Position;
  /** The position of the previous page, if it is not the position before the first row. */
  readonly previous?: Position;
  /** Returns the key of a row in the listing. */
  keyOf(row: Row): Key;
}

/** Compares keys as both engines do: column by column, numbers by size, strings by their UTF-8 bytes. */
export function compareKeys(a: Key, b: Key): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (left === right) continue;
    if (typeof left === "string" && typeof right === "string") return compareTexts(left, right);
    return Number(left) - Number(right);
  }
  return 0;
}

function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Orders UTF-16 units by code point: surrogates encode the highest characters, but are not the highest units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
