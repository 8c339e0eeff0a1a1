/** The values of the ordering columns of one row: unique in its listing. */
export type Key = readonly (string | number)[];

/** Where a page lies relative to a key, in the order of its listing. */
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
  /** Where a row stands in the listing. */
  keyOf(row: Row): Key;
}

/** Compares keys as both engines do: column by column, numbers by size, texts by their UTF-8 bytes. */
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

/** UTF-16 has its surrogates, which stand for the highest characters, below some others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
