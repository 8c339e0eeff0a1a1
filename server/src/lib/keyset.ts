/** The values of a row's ordering columns, unique within the listing. */
export type Key = readonly (string | number)[];

/** The position of a page relative to a key, in the order of its listing. */
export type Side = "after" | "from" | "before" | "until";

/** The position of a page. `from` and `until` include the row of the key, `after` and `before` do not. */
export type Position =
  | { readonly at: "start" | "end" }
  /** This many rows after the start, or after a key. */
  | { readonly at: "offset"; readonly offset: number; readonly after?: Key }
  /** `hasRowsBehind`: whether there are rows on the other side, if the walk that ended at this key has found out. */
  | { readonly at: Side; readonly key: Key; readonly hasRowsBehind?: boolean };

/** The complement: the side that has exactly the rows that the other one lacks. */
export const oppositeSide: Readonly<Record<Side, Side>> = {
  after: "until",
  until: "after",
  before: "from",
  from: "before",
};

/** One page of rows in the order of the listing, and whether there are rows on either side. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** The position of the next page, when this page does not end at a row. */
  readonly next?: Position;
  /** The position of the previous page, likewise. */
  readonly previous?: Position;
  /** The key of a row in the listing. */
  keyOf(row: Row): Key;
}

/** Compares keys like both database engines: column by column, numbers by size, texts by their UTF-8 bytes. */
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

/** Orders UTF-16 units by code point: surrogates stand for the highest characters, but are not the highest units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
