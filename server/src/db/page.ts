import { oppositeSide, type Page, type Position, type Side } from "../lib/keyset.ts";
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
      const found = await stream.take({ ...onSide(position.at, position.key), count: size + 1 });
      return {
        rows: found.slice(0, size),
        hasNext: found.length > size,
        hasPrevious: await isBeyond("before", found[0]),
        keyOf,
      };
    }
    case "before":
    case "until": {
      const found = await stream.take({ ...onSide(position.at, position.key), count: size + 1 });
      return {
        rows: found.slice(0, size).reverse(),
        hasNext: await isBeyond("after", found[0]),
        hasPrevious: found.length > size,
        keyOf,
      };
    }
  }
}

function onSide(side: Side, key: NonNullable<Take["bound"]>["key"]): Omit<Take, "count"> {
  const direction = side === "after" || side === "from" ? "forward" : "backward";
  return { direction, bound: { side, key } };
}
