import { type RawBuilder, sql } from "kysely";
import type { CellRange } from "../lib/cells.ts";
import type { Condition, Order, Parameter } from "./conditions.ts";
import type { Queries } from "./database.ts";
import { prepareShapes } from "./prepared.ts";
import type { Stream } from "./stream.ts";

/** Rows of a table, or of a join, that meet all conditions: a part of a search that one index answers. */
export interface Scope {
  /** Unique for the texts of `from`, `select` and `cell`. */
  readonly shape: string;
  readonly from: RawBuilder<unknown>;
  readonly select: RawBuilder<unknown>;
  readonly conditions: readonly Condition[];
  /** The cell by which the rows are found in an area. */
  readonly cell?: RawBuilder<unknown>;
}

const runShape = prepareShapes();

/**
 * The rows of a scope in an order that one of its indexes has: nothing is counted or sorted.
 *
 * A row comparison finds its place in an index on columns. SQLite does not find it so in one on an expression, which is
 * what the longer orders have: there the rest of the rows alike in the first column is read on its own, then those
 * beyond. So a page costs the same however many rows are alike, and wherever among them it begins.
 */
export function scopeStream<Row>(
  scope: Scope,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const shape = `${shapeOf(scope)} by ${order.shape}`;
  const scopeValues = valuesOf(scope);

  function read(
    isDown: boolean,
    values: Readonly<Record<string, unknown>>,
    part: string,
    columns: readonly RawBuilder<unknown>[],
    write?: (key: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
  ): Promise<Row[]> {
    return runShape<Row>(queries, `${shape} ${isDown} ${part}`, values, (parameter) => {
      const key = order.columns.map((_, index) => sql`${parameter(`key ${index}`)}`);
      const side = write === undefined ? sql`` : sql`and ${write(key)}`;
      const sorted = sql.join(columns.map((column) => (isDown ? sql`${column} desc` : sql`${column} asc`)));
      return compilable(
        sql<Row>`select ${scope.select} from ${scope.from} where ${conditionsOf(scope, parameter)} ${side}
          order by ${sorted} limit ${parameter("count")}`,
        queries,
      );
    });
  }

  return {
    keyOf: order.keyOf,
    isDescending,
    async take({ direction, bound, count }) {
      const { columns } = order;
      const isDown = isDescending === (direction === "forward");
      const values: Record<string, unknown> = { ...scopeValues, count };
      if (bound === undefined) return read(isDown, values, "", columns);

      for (const [index, value] of bound.key.entries()) values[`key ${index}`] = value;
      // Of two bounds of one column an engine enters the index by either: so both are the narrower one.
      const limit = `${order.shape} ${isDown ? "<=" : ">="}`;
      const limits = [scopeValues[limit], bound.key[0]].filter((value) => typeof value === "number");
      if (limits.length === 2) values[limit] = isDown ? Math.min(...limits) : Math.max(...limits);

      const beyond = sql.raw(isDown ? "<" : ">");
      const isInclusive = bound.side === "from" || bound.side === "until";
      const comparison = isInclusive ? sql`${beyond}=` : beyond;
      const part = isInclusive ? "from the key" : "beyond the key";
      const [first, ...others] = columns;
      if (others.length === 1) {
        return read(isDown, values, part, columns, (key) => {
          return sql`(${sql.join([...columns])}) ${comparison} (${sql.join([...key])})`;
        });
      }
      const alike = await read(isDown, values, `${part}, alike`, others, ([firstKey, ...otherKeys]) => {
        return sql`${first} = ${firstKey} and (${sql.join(others)}) ${comparison} (${sql.join(otherKeys)})`;
      });
      if (alike.length === count) return alike;
      values["count"] = count - alike.length;
      const rest = await read(isDown, values, "rest", columns, ([firstKey]) => sql`${first} ${beyond} ${firstKey}`);
      return [...alike, ...rest];
    },
  };
}

/** At most `count` rows of a scope that lie in these cells, in no order. */
export function rowsInCells<Row>(
  scope: Scope,
  cells: readonly CellRange[],
  count: number,
  queries: Queries,
): Promise<Row[]> {
  return runInCells<Row>("rows", scope, cells, count, queries, (found) => sql<Row>`select ${scope.select} ${found}`);
}

/** How many rows of a scope lie in these cells, but no more than `bound`: a look at the index alone, where it can. */
export async function countInCells(
  scope: Scope,
  cells: readonly CellRange[],
  bound: number,
  queries: Queries,
): Promise<number> {
  const [row] = await runInCells<{ n: number }>(
    "count",
    scope,
    cells,
    bound,
    queries,
    (found) => sql<{ n: number }>`select count(*) as n from (select 1 ${found}) as some`,
  );
  return row?.n ?? 0;
}

function runInCells<Row>(
  what: string,
  scope: Scope,
  cells: readonly CellRange[],
  count: number,
  queries: Queries,
  write: (found: RawBuilder<unknown>) => RawBuilder<Row>,
): Promise<Row[]> {
  const values: Record<string, unknown> = { ...valuesOf(scope), count };
  for (const [index, { from, to }] of cells.entries()) {
    values[`from ${index}`] = from;
    values[`to ${index}`] = to;
  }
  return runShape<Row>(queries, `${what} of ${shapeOf(scope)} in ${cells.length}`, values, (parameter) => {
    const ranges = cells.map(
      (_, index) => sql`(cast(${parameter(`from ${index}`)} as bigint), cast(${parameter(`to ${index}`)} as bigint))`,
    );
    // "cross join" makes SQLite go through the ranges, and the index for each, and never the other way round.
    const found = sql`from span cross join ${scope.from}
      where ${conditionsOf(scope, parameter)} and ${scope.cell ?? sql``} between span.low and span.high
      limit ${parameter("count")}`;
    return compilable(sql<Row>`with span (low, high) as (values ${sql.join(ranges)}) ${write(found)}`, queries);
  });
}

function conditionsOf(scope: Scope, parameter: Parameter): RawBuilder<unknown> {
  return sql.join(
    scope.conditions.map((condition) => condition.sql(parameter)),
    sql` and `,
  );
}

function shapeOf(scope: Scope): string {
  return `${scope.shape} where ${scope.conditions.map(({ shape }) => shape).join(" and ")}`;
}

function valuesOf(scope: Scope): Readonly<Record<string, string | number>> {
  return Object.assign({}, ...scope.conditions.map(({ values }) => values));
}

/** What `prepareShapes` takes, of a statement that is written out. */
function compilable<Row>(statement: RawBuilder<Row>, queries: Queries) {
  return { compile: () => statement.compile(queries) };
}
