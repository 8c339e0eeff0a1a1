import { type CallWork, yieldWork } from "../../lib/call-work.ts";
import { compareKeys, type Key, type Side } from "../../lib/keyset.ts";

/** The requested rows of a stream; forward is the order of the listing. */
export interface Take {
  readonly direction: "forward" | "backward";
  /** Only rows on this side of a key: `after` and `from` go forward, `before` and `until` backward. */
  readonly bound?: { readonly side: Side; readonly key: Key } | undefined;
  readonly count: number;
}

/** The result of a `take`. Fewer rows than requested means the end of the stream, unless the walk stopped early. */
export interface Taken<Row> {
  readonly rows: Row[];
  /**
   * Where a walk stopped because it had examined too much: all rows up to and including this key have been examined.
   */
  readonly reached?: Key;
}

/**
 * Ordered rows that can be read from any key in both directions. Listings, filters and area searches are streams
 * composed of others.
 */
export interface Stream<Row> {
  keyOf(row: Row): Key;
  /** True if the listing runs from the greatest key to the smallest. */
  readonly isDescending: boolean;
  /** The number of rows that an offset skips in one step, if reading many is cheaper. */
  readonly skipRows?: number | undefined;
  /**
   * Reads at most `count` rows in the given direction, starting at the bound.
   *
   * @param work stops the walk when its budget is exhausted, but not before the walk has passed the bound; absent for
   * no limit
   * @throws Abandoned
   */
  take(take: Take, work?: CallWork): Promise<Taken<Row>>;
}

/**
 * Merges streams of one order. A row that is in several is returned once, even if a concurrent change has moved it
 * between the reads.
 */
export function mergeStreams<Row extends { readonly id: string }>(
  streams: readonly [Stream<Row>, ...Stream<Row>[]],
): Stream<Row> {
  const [first] = streams;
  if (streams.length === 1) return first;
  return {
    keyOf: first.keyOf,
    isDescending: first.isDescending,
    skipRows: first.skipRows,
    async take(take, work) {
      const taken = await Promise.all(streams.map((stream) => stream.take(take, work)));
      const all = taken.filter(({ rows, reached }) => rows.length > 0 || reached !== undefined);
      const [only] = all;
      if (only === undefined) return { rows: [] };
      if (all.length === 1) return only;
      const rows = sortRows(distinctRows(all.flatMap((each) => each.rows)), first, take.direction);
      const stops = all.flatMap(({ reached: stop }) => (stop === undefined ? [] : [stop]));
      const reached = nearest(stops, first, take.direction);
      if (reached === undefined) return { rows: rows.slice(0, take.count) };
      // Rows beyond this key may come after unread rows of the stopped stream.
      const side = take.direction === "forward" ? "until" : "from";
      const within = rows.filter((row) => isOnSide(first, first.keyOf(row), { side, key: reached }));
      return within.length >= take.count ? { rows: within.slice(0, take.count) } : { rows: within, reached };
    },
  };
}

/** Removes duplicates by id. */
export function distinctRows<Row extends { readonly id: string }>(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** Each chunk blocks the event loop while SQLite reads it. */
const chunkRowsMax = 500;

/** Filters the rows of a stream. Yields to the event loop between chunks. */
export function filterStream<Row>(stream: Stream<Row>, isIn: (row: Row) => boolean): Stream<Row> {
  return {
    keyOf: stream.keyOf,
    isDescending: stream.isDescending,
    skipRows: stream.skipRows,
    async take(take, work) {
      const passed: Row[] = [];
      let { bound } = take;
      for (let count = take.count; ; count = Math.min(count * 2, Math.max(chunkRowsMax, take.count))) {
        const chunk = await stream.take({ ...take, bound, count }, work);
        for (const row of chunk.rows) if (isIn(row)) passed.push(row);
        if (passed.length >= take.count) return { rows: passed.slice(0, take.count) };
        const last = chunk.rows.length < count ? undefined : chunk.rows.at(-1);
        const key = chunk.reached ?? (last && stream.keyOf(last));
        if (key === undefined) return { rows: passed };
        if (work?.isExhausted()) return { rows: passed, reached: key };
        bound = { side: beyond[take.direction], key };
        await yieldWork(work);
      }
    },
  };
}

const beyond = { forward: "after", backward: "before" } as const;

/** Makes a stream of rows in memory. */
export function streamOf<Row>(rows: readonly Row[], order: Pick<Stream<Row>, "keyOf" | "isDescending">): Stream<Row> {
  return {
    ...order,
    async take({ direction, bound, count }) {
      const within = bound === undefined ? rows : rows.filter((row) => isOnSide(order, order.keyOf(row), bound));
      return { rows: sortRows([...within], order, direction).slice(0, count) };
    },
  };
}

/** Skips rows by reading over them in chunks. */
export async function takeAfterOffset<Row>(
  stream: Stream<Row>,
  { offset, after, count }: { readonly offset: number; readonly after?: Key | undefined; readonly count: number },
  work?: CallWork,
): Promise<Taken<Row> & { readonly offsetLeft: number }> {
  let bound: Take["bound"] = after && { side: "after", key: after };
  let offsetLeft = offset;
  while (offsetLeft > 0) {
    const chunk = Math.min(offsetLeft, stream.skipRows ?? chunkRowsMax);
    const skipped = await stream.take({ direction: "forward", bound, count: chunk }, work);
    offsetLeft -= skipped.rows.length;
    if (skipped.reached !== undefined) return { rows: [], reached: skipped.reached, offsetLeft };
    const last = skipped.rows.at(-1);
    if (last === undefined || skipped.rows.length < chunk) return { rows: [], offsetLeft };
    const key = stream.keyOf(last);
    if (work?.isExhausted()) return { rows: [], reached: key, offsetLeft };
    bound = { side: "after", key };
    await yieldWork(work);
  }
  return { ...(await stream.take({ direction: "forward", bound, count }, work)), offsetLeft };
}

/**
 * Iterates over all rows of a stream in chunks, yielding to the event loop between them. Rows that are added or deleted
 * during the iteration may or may not appear.
 */
export async function* eachRow<Row>(stream: Stream<Row>, rowsPerChunk: number): AsyncGenerator<Row, void, undefined> {
  for await (const rows of eachChunk(stream, rowsPerChunk)) yield* rows;
}

/**
 * Like {@link eachRow}, chunk by chunk.
 *
 * @param work stops the walk when its client has disconnected; the rows are not counted
 */
export async function* eachChunk<Row>(
  stream: Stream<Row>,
  rowsPerChunk: number,
  work?: CallWork,
): AsyncGenerator<readonly Row[], void, undefined> {
  let bound: Take["bound"];
  for (;;) {
    const { rows } = await stream.take({ direction: "forward", bound, count: rowsPerChunk });
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerChunk) return;
    bound = { side: "after", key: stream.keyOf(last) };
    await yieldWork(work);
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

/** Returns the key that a walk in this direction reaches first. */
function nearest(
  keys: readonly Key[],
  { isDescending }: { readonly isDescending: boolean },
  direction: Take["direction"],
): Key | undefined {
  const sign = isDescending === (direction === "forward") ? -1 : 1;
  return keys.toSorted((a, b) => sign * compareKeys(a, b))[0];
}

export function isOnSide(
  { isDescending }: { readonly isDescending: boolean },
  key: Key,
  bound: { readonly side: Side; readonly key: Key },
): boolean {
  const order = (isDescending ? -1 : 1) * compareKeys(key, bound.key); // above 0: later in the listing
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
