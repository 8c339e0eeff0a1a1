import { compareKeys, type Key, type Side } from "../lib/keyset.ts";

/** Which rows of a stream are asked for: forward is the order of the listing. */
export interface Take {
  readonly direction: "forward" | "backward";
  /** Only rows on this side of a key: `after` and `from` go forward, `before` and `until` backward. */
  readonly bound?: { readonly side: Side; readonly key: Key } | undefined;
  readonly count: number;
}

/**
 * Rows in an order, that can be entered at any key and read in both directions. Listings, filters and searches in areas
 * are streams, put together from others.
 */
export interface Stream<Row> {
  keyOf(row: Row): Key;
  /** True when the listing runs from the greatest key to the smallest. */
  readonly isDescending: boolean;
  /** At most `count` rows, in the direction of the reading: those next to the bound first. */
  take(take: Take): Promise<Row[]>;
}

/**
 * Several streams of one order as one. A row that is in several comes once, also when it has been changed between the looks at
 * them, and has another place in each.
 */
export function mergeStreams<Row extends { readonly id: string }>(
  streams: readonly [Stream<Row>, ...Stream<Row>[]],
): Stream<Row> {
  const [first] = streams;
  if (streams.length === 1) return first;
  return {
    keyOf: first.keyOf,
    isDescending: first.isDescending,
    async take(take) {
      const taken = await Promise.all(streams.map((stream) => stream.take(take)));
      return sortRows(distinctRows(taken.flat()), first, take.direction).slice(0, take.count);
    },
  };
}

/** Each of them once. */
export function distinctRows<Row extends { readonly id: string }>(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

const chunkRowsMax = 1_000;

/** The rows of a stream that pass a test which SQL cannot make. Lets others have the event loop between its chunks. */
export function filterStream<Row>(stream: Stream<Row>, isIn: (row: Row) => boolean): Stream<Row> {
  return {
    keyOf: stream.keyOf,
    isDescending: stream.isDescending,
    async take(take) {
      const passed: Row[] = [];
      let { bound } = take;
      for (let count = take.count; ; count = Math.min(count * 2, chunkRowsMax)) {
        const chunk = await stream.take({ ...take, bound, count });
        for (const row of chunk) if (isIn(row)) passed.push(row);
        const last = chunk.at(-1);
        if (passed.length >= take.count || chunk.length < count || last === undefined)
          return passed.slice(0, take.count);
        bound = { side: take.direction === "forward" ? "after" : "before", key: stream.keyOf(last) };
        await new Promise(setImmediate);
      }
    },
  };
}

/** Rows that are in memory already. */
export function streamOf<Row>(rows: readonly Row[], order: Pick<Stream<Row>, "keyOf" | "isDescending">): Stream<Row> {
  return {
    ...order,
    async take({ direction, bound, count }) {
      const within = bound === undefined ? rows : rows.filter((row) => isOnSide(order, order.keyOf(row), bound));
      return sortRows([...within], order, direction).slice(0, count);
    },
  };
}

/** Skips rows by reading over them, a bounded number at a time. */
export async function takeAfterOffset<Row>(stream: Stream<Row>, offset: number, count: number): Promise<Row[]> {
  let bound: Take["bound"];
  for (let left = offset; left > 0; ) {
    const skipped = await stream.take({ direction: "forward", bound, count: Math.min(left, chunkRowsMax) });
    const last = skipped.at(-1);
    if (last === undefined) return [];
    left -= skipped.length;
    bound = { side: "after", key: stream.keyOf(last) };
    await new Promise(setImmediate);
  }
  return stream.take({ direction: "forward", bound, count });
}

/**
 * All rows of a stream, read a bounded number at a time; others have the event loop between. What comes and goes meanwhile
 * may be there or not.
 */
export async function* eachRow<Row>(stream: Stream<Row>, rowsAtOnce: number): AsyncGenerator<Row, void, undefined> {
  let bound: Take["bound"];
  for (;;) {
    const rows = await stream.take({ direction: "forward", bound, count: rowsAtOnce });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) return;
    bound = { side: "after", key: stream.keyOf(last) };
    await new Promise(setImmediate);
  }
}

export function sortRows<Row>(
  rows: Row[],
  { keyOf, isDescending }: Pick<Stream<Row>, "keyOf" | "isDescending">,
  direction: Take["direction"],
): Row[] {
  const sign = isDescending === (direction === "forward") ? -1 : 1;
  return rows.sort((a, b) => sign * compareKeys(keyOf(a), keyOf(b)));
}

export function isOnSide(
  { isDescending }: { readonly isDescending: boolean },
  key: Key,
  bound: { readonly side: Side; readonly key: Key },
): boolean {
  const order = (isDescending ? -1 : 1) * compareKeys(key, bound.key); // above 0: further on in the listing
  switch (bound.side) {
    case "after":
      return order > 0;
    case "from":
      return order >= 0;
    case "before":
      return order < 0;
    case "until":
      return order <= 0;
  }
}
