import { compareKeys, type Key, oppositeSide, type Page, type Position, type Side } from "../lib/keyset.ts";
import { type Stream, type Take, takeAfterOffset } from "./stream.ts";

/**
 * Reads one page by its key, so that any page costs what the first one costs, and rows that come and go meanwhile shift
 * nothing. One row more than the page is read to know what follows; the other side is asked for a single row.
 */
export async function readPage<Row>(stream: Stream<Row>, position: Position, size: number): Promise<Page<Row>> {
  const { keyOf } = stream;
  async function isAny(take: Omit<Take, "count">): Promise<boolean> {
    return (await stream.take({ ...take, count: 1 })).length > 0;
  }
  async function isBeyond(side: Side, row: Row | undefined): Promise<boolean> {
    if (row !== undefined) return isAny(onSide(side, keyOf(row)));
    // An empty page: whatever there is lies on the other side of where the page would have been.
    return "key" in position && isAny(onSide(oppositeSide[position.at], position.key));
  }

  /**
   * The rows of a page and one more. Where the row of the key does not belong to it, that row is read too: it is the row on
   * the other side, and is still there as a rule, so that nobody has to look for another.
   */
  async function takeFrom(side: Side, key: Key): Promise<{ isKeyThere: boolean; found: Row[] }> {
    const isOutside = side === "after" || side === "before";
    const found = await stream.take({ ...onSide(including[side], key), count: size + (isOutside ? 2 : 1) });
    const [first] = found;
    const isKeyThere = isOutside && first !== undefined && compareKeys(keyOf(first), key) === 0;
    if (isKeyThere) found.shift();
    return { isKeyThere, found };
  }

  switch (position.at) {
    case "start": {
      const found = await stream.take({ direction: "forward", count: size + 1 });
      return { rows: found.slice(0, size), hasNext: found.length > size, hasPrevious: false, keyOf };
    }
    case "end": {
      const found = await stream.take({ direction: "backward", count: size + 1 });
      return { rows: found.slice(0, size).reverse(), hasNext: false, hasPrevious: found.length > size, keyOf };
    }
    case "offset": {
      const { offset } = position;
      const found = await takeAfterOffset(stream, offset, size + 1);
      const hasPrevious = offset > 0 && (found.length > 0 || (await isAny({ direction: "forward" })));
      return { rows: found.slice(0, size), hasNext: found.length > size, hasPrevious, keyOf };
    }
    case "after":
    case "from": {
      const { isKeyThere, found } = await takeFrom(position.at, position.key);
      return {
        rows: found.slice(0, size),
        hasNext: found.length > size,
        hasPrevious: isKeyThere || (await isBeyond("before", found[0])),
        keyOf,
      };
    }
    case "before":
    case "until": {
      const { isKeyThere, found } = await takeFrom(position.at, position.key);
      return {
        rows: found.slice(0, size).reverse(),
        hasNext: isKeyThere || (await isBeyond("after", found[0])),
        hasPrevious: found.length > size,
        keyOf,
      };
    }
  }
}

const including = { after: "from", from: "from", before: "until", until: "until" } as const;

function onSide(side: Side, key: Key): Omit<Take, "count"> {
  const direction = side === "after" || side === "from" ? "forward" : "backward";
  return { direction, bound: { side, key } };
}
