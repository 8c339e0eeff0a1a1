import { type SelectQueryBuilder, sql } from "kysely";
import { type Key, oppositeSide, type Page, type Position, type Side } from "../lib/keyset.ts";

const comparisons: Readonly<Record<Side, string>> = { after: "<", from: "<=", before: ">", until: ">=" };

/**
 * Reads one page by its key, so that any page costs what the first one costs, and rows that come and go meanwhile shift
 * nothing. One row more than the page is read to know what follows; the other side is asked for a single row.
 *
 * @param query selects the listing without order, all the `columns` among what it selects
 * @param columns order the listing, greatest first, and are unique together
 */
export async function readPage<DB, TB extends keyof DB, Row extends object>(
  query: SelectQueryBuilder<DB, TB, Row>,
  columns: readonly (keyof Row & string)[],
  position: Position,
  size: number,
): Promise<Page<Row>> {
  type Query = SelectQueryBuilder<DB, TB, Row>;

  function onSide(side: Side, key: Key): Query {
    const left = sql.join(columns.map((column) => sql.ref(column)));
    return query.where(sql<boolean>`(${left}) ${sql.raw(comparisons[side])} (${sql.join([...key])})`);
  }
  function ordered(base: Query, direction: "asc" | "desc"): Query {
    return columns.reduce((sorted, column) => sorted.orderBy(sql.ref(column), direction), base).limit(size + 1);
  }
  async function isAny(base: Query): Promise<boolean> {
    return (await base.limit(1).execute()).length > 0;
  }
  async function isBeyond(side: Side, row: Row | undefined): Promise<boolean> {
    if (row !== undefined) return isAny(onSide(side, keyOf(row, columns)));
    // An empty page: whatever there is lies on the other side of where the page would have been.
    return "key" in position && isAny(onSide(oppositeSide[position.at], position.key));
  }

  switch (position.at) {
    case "start": {
      const found = await ordered(query, "desc").execute();
      return { rows: found.slice(0, size), hasNext: found.length > size, hasPrevious: false };
    }
    case "end": {
      const found = await ordered(query, "asc").execute();
      return { rows: found.slice(0, size).reverse(), hasNext: false, hasPrevious: found.length > size };
    }
    case "offset": {
      const found = await ordered(query, "desc").offset(position.offset).execute();
      const hasPrevious = position.offset > 0 && (found.length > 0 || (await isAny(query)));
      return { rows: found.slice(0, size), hasNext: found.length > size, hasPrevious };
    }
    case "after":
    case "from": {
      const found = await ordered(onSide(position.at, position.key), "desc").execute();
      return {
        rows: found.slice(0, size),
        hasNext: found.length > size,
        hasPrevious: await isBeyond("before", found[0]),
      };
    }
    case "before":
    case "until": {
      const found = await ordered(onSide(position.at, position.key), "asc").execute();
      return {
        rows: found.slice(0, size).reverse(),
        hasNext: await isBeyond("after", found[0]),
        hasPrevious: found.length > size,
      };
    }
  }
}

function keyOf<Row>(row: Row, columns: readonly (keyof Row)[]): Key {
  return columns.map((column) => row[column] as string | number); // what ordering columns hold
}
