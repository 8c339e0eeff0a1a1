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

/** The rows of a scope in an order that one of its indexes has: nothing is counted or sorted. */
export function scopeStream<Row>(
  scope: Scope,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const shape = `${shapeOf(scope)} by ${order.shape}`;
  const scopeValues = valuesOf(scope);
  return {
    keyOf: order.keyOf,
    isDescending,
    take({ direction, bound, count }) {
      const isDown = isDescending === (direction === "forward");
      const beyond = isDown ? "<" : ">";
      const isInclusive = bound?.side === "from" || bound?.side === "until";
      const comparison = bound && (isInclusive ? `${beyond}=` : beyond);
      const values: Record<string, unknown> = { ...scopeValues, count };
      for (const [index, value] of (bound?.key ?? []).entries()) values[`key ${index}`] = value;

      return runShape<Row>(queries, `${shape} ${isDown} ${comparison}`, values, (parameter) => {
        const key = order.columns.map((_, index) => sql`${parameter(`key ${index}`)}`);
        const columns = sql.join([...order.columns]);
        // The first column alone says less, but SQLite finds the place in an index on an expression by it, and only so.
        const side = comparison
          ? sql`and ${order.columns[0]} ${sql.raw(`${beyond}=`)} ${key[0]} and (${columns}) ${sql.raw(comparison)} (${sql.join(key)})`
          : sql``;
        const sorted = sql.join(order.columns.map((column) => (isDown ? sql`${column} desc` : sql`${column} asc`)));
        return compilable(
          sql<Row>`select ${scope.select} from ${scope.from} where ${conditionsOf(scope, parameter)} ${side}
            order by ${sorted} limit ${parameter("count")}`,
          queries,
        );
      });
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

function valuesOf(scope: Scope): Record<string, unknown> {
  return Object.assign({}, ...scope.conditions.map(({ values }) => values));
}

/** What `prepareShapes` takes, of a statement that is written out. */
function compilable<Row>(statement: RawBuilder<Row>, queries: Queries) {
  return { compile: () => statement.compile(queries) };
}
