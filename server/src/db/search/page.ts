import type { CallWork } from "../../lib/call-work.ts";
import { compareKeys, type Key, oppositeSide, type Page, type Position, type Side } from "../../lib/keyset.ts";
import { type Stream, type Take, type Taken, takeAfterOffset } from "./stream.ts";

/**
 * Reads one page by its key (keyset pagination), so that every page costs the same, and concurrent inserts and deletes
 * do not shift it. Reads one extra row to know whether more follow, and probes the other side for a single row.
 *
 * @param work when its budget is exhausted, the page has the rows found so far, and the position where the walk stopped
 * @throws Abandoned
 */
export async function readPage<Row>(
  stream: Stream<Row>,
  position: Position,
  size: number,
  work?: CallWork,
): Promise<Page<Row>> {
  const { keyOf } = stream;
  /** Also true if the walk stopped without an answer: then the other page may turn out to be empty. */
  async function isAny(take: Omit<Take, "count">): Promise<boolean> {
    const { rows, reached } = await stream.take({ ...take, count: 1 }, work);
    return rows.length > 0 || reached !== undefined;
  }
  async function isBeyond(side: Side, row: Row | undefined): Promise<boolean> {
    if (row !== undefined) return isAny(onSide(side, keyOf(row)));
    // An empty page: any rows are on the other side of the position.
    return "key" in position && isAny(onSide(oppositeSide[position.at], position.key));
  }

  /**
   * Reads the rows of a page and one more. If the row of the key is outside the page, it is read as well: it usually
   * still exists and proves that the other side has rows, which saves a lookup.
   */
  async function takeFrom(side: Side, key: Key): Promise<Taken<Row> & { isKeyThere: boolean }> {
    const isOutside = side === "after" || side === "before";
    const taken = await stream.take({ ...onSide(including[side], key), count: size + (isOutside ? 2 : 1) }, work);
    const [first] = taken.rows;
    const isKeyThere = isOutside && first !== undefined && compareKeys(keyOf(first), key) === 0;
    return { ...taken, rows: isKeyThere ? taken.rows.slice(1) : taken.rows, isKeyThere };
  }

  function forward({ rows, reached }: Taken<Row>, hasPrevious: boolean): Page<Row> {
    const isFull = rows.length > size;
    const next = reached !== undefined && !isFull && stoppedAt("after", reached, rows.length > 0 || hasPrevious);
    return { rows: rows.slice(0, size), hasNext: isFull || next !== false, hasPrevious, keyOf, ...(next && { next }) };
  }

  function backward({ rows, reached }: Taken<Row>, hasNext: boolean): Page<Row> {
    const isFull = rows.length > size;
    const previous = reached !== undefined && !isFull && stoppedAt("before", reached, rows.length > 0 || hasNext);
    return {
      rows: rows.slice(0, size).reverse(),
      hasNext,
      hasPrevious: isFull || previous !== false,
      keyOf,
      ...(previous && { previous }),
    };
  }

  switch (position.at) {
    case "start":
      return forward(await stream.take({ direction: "forward", count: size + 1 }, work), false);
    case "end":
      return backward(await stream.take({ direction: "backward", count: size + 1 }, work), false);
    case "offset": {
      const { offset, after } = position;
      const taken = await takeAfterOffset(stream, { offset, after, count: size + 1 }, work);
      const { offsetLeft, reached } = taken;
      if (reached !== undefined && taken.rows.length === 0) {
        const next: Position = { at: "offset", offset: offsetLeft, after: reached };
        const hasPrevious = offsetLeft < offset || after !== undefined; // skipped rows precede the page
        const previous: Position = { at: "until", key: reached };
        return { rows: [], hasNext: true, hasPrevious, keyOf, next, ...(hasPrevious && { previous }) };
      }
      const hasSkipped = offset > 0 || after !== undefined;
      const hasPrevious = hasSkipped && (taken.rows.length > 0 || (await isAny({ direction: "forward" })));
      return forward(taken, hasPrevious);
    }
    case "after":
    case "from": {
      const taken = await takeFrom(position.at, position.key);
      const isKnown = taken.isKeyThere || position.hasRowsBehind;
      return forward(taken, isKnown ?? (await isBeyond("before", taken.rows[0])));
    }
    case "before":
    case "until": {
      const taken = await takeFrom(position.at, position.key);
      const isKnown = taken.isKeyThere || position.hasRowsBehind;
      return backward(taken, isKnown ?? (await isBeyond("after", taken.rows[0])));
    }
  }
}

const including = { after: "from", from: "from", before: "until", until: "until" } as const;

function onSide(side: Side, key: Key): Omit<Take, "count"> {
  const direction = side === "after" || side === "from" ? "forward" : "backward";
  return { direction, bound: { side, key } };
}

function stoppedAt(at: Side, key: Key, hasRowsBehind: boolean): Position {
  return { at, key, hasRowsBehind };
}
