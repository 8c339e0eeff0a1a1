import { type RawBuilder, sql } from "kysely";
import type { CellRange } from "../lib/cells.ts";
import { compareKeys } from "../lib/keyset.ts";
import { type Condition, condition, type Order, type Parameter } from "./conditions.ts";
import type { Queries } from "./database.ts";
import { hasLateralJoins } from "./dialect.ts";
import { compilable, prepareShapes } from "./prepared.ts";
import { rowLimit } from "./row-limit.ts";
import type { Stream, Taken } from "./stream.ts";

/** Rows of a table or join that meet all conditions: a part of a search that one index answers. */
export interface Scope {
  /** Unique for the texts of `from`, `select` and `cell`. */
  readonly shape: string;
  readonly from: RawBuilder<unknown>;
  /** The columns; with values of the conditions as parameters where a function makes them. */
  readonly select: RawBuilder<unknown> | ((parameter: Parameter) => RawBuilder<unknown>);
  readonly conditions: readonly Condition[];
  /** The cell column, for searches in an area. */
  readonly cell?: RawBuilder<unknown>;
  /** The column that breaks ties within a cell, if it is not `id`. */
  readonly tie?: string;
}

const runShape = prepareShapes();
const runFew = prepareShapes({ isLookup: true });
/** Up to this many rows are few enough to be read together with those of other calls. */
const fewRowsMax = 101;

/**
 * Streams the rows of a scope in the order of one of its indexes, without counting or sorting.
 *
 * Engines can start an index scan at a row comparison of columns. SQLite cannot if the index begins with an expression,
 * as the longer orders do: so the remaining rows with the same value are read first, then those beyond it. A page costs
 * the same, however many rows share a value.
 */
export function scopeStream<Row>(
  { conditions, ...rows }: Scope,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const scope = { ...rows, conditions: [...conditions, ...(order.conditions ?? [])] };
  const shape = `${shapeOf(scope)} by ${order.shape}`;
  const scopeValues = valuesOf(scope);
  // A column that a condition fixes does not affect the order, which no engine detects for expressions.
  const isAlike = scope.conditions.some((each) => `${each.shape} `.startsWith(`${order.shape} = `));
  const columns = isAlike ? order.columns.slice(1) : order.columns;
  const ranged = isAlike ? "created_at" : order.shape;
  const [first, ...others] = columns;

  function read(
    isDown: boolean,
    values: Readonly<Record<string, unknown>>,
    part: string,
    sortedBy: readonly RawBuilder<unknown>[],
    writePart: (key: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
  ): Promise<Row[]> {
    const isFew = Number(values["count"]) <= fewRowsMax;
    return (isFew ? runFew : runShape)<Row>(queries, `${shape} ${isDown} ${part}`, values, (parameter) => {
      const key = columns.map((_, index) => sql`${parameter(`key ${index}`)}`);
      const sorted = sql.join(sortedBy.map((column) => (isDown ? sql`${column} desc` : sql`${column} asc`)));
      const found = sql`from ${scope.from} where ${conditionsOf(scope, parameter)} ${writePart(key)}
        order by ${sorted} limit ${rowLimit(parameter("count"))}`;
      return compilable(sql<Row>`select ${selectOfScope(scope, parameter)} ${found}`, queries);
    });
  }

  return {
    keyOf: order.keyOf,
    isDescending,
    async take({ direction, bound, count }, work) {
      const isDown = isDescending === (direction === "forward");
      const values: Record<string, unknown> = { ...scopeValues, count };
      const found = (rows: Row[]): Taken<Row> => {
        work?.examined(rows.length);
        return { rows };
      };
      if (bound === undefined) return found(await read(isDown, values, "all", columns, () => sql``));

      const keyValues = isAlike ? bound.key.slice(1) : bound.key;
      for (const [index, value] of keyValues.entries()) values[`key ${index}`] = value;
      // Given two bounds of one column an engine may start the scan at either one, so both are set to the narrower one.
      const limit = `${ranged} ${isDown ? "<=" : ">="}`;
      const [scopeLimit, keyLimit] = [scopeValues[limit], keyValues[0]];
      if (scopeLimit !== undefined && keyLimit !== undefined) {
        const isKeyNarrower = compareKeys([keyLimit], [scopeLimit]) < 0 === isDown;
        values[limit] = isKeyNarrower ? keyLimit : scopeLimit;
      }

      const isInclusive = bound.side === "from" || bound.side === "until";
      const beyond = sql.raw(isDown ? "<" : ">");
      const onSide = isInclusive ? sql`${beyond}=` : beyond;
      const part = isInclusive ? "from the key" : "beyond the key";
      if (others.length <= 1) {
        const rows = await read(isDown, values, part, columns, (key) => {
          return sql`and (${sql.join([...columns])}) ${onSide} (${sql.join([...key])})`;
        });
        return found(rows);
      }
      const alike = await read(isDown, values, `${part}, alike`, others, ([firstKey, ...otherKeys]) => {
        return sql`and ${first} = ${firstKey} and (${sql.join(others)}) ${onSide} (${sql.join(otherKeys)})`;
      });
      if (alike.length === count) return found(alike);
      values["count"] = count - alike.length;
      const rest = await read(isDown, values, "rest", columns, ([key]) => sql`and ${first} ${beyond} ${key}`);
      return found([...alike, ...rest]);
    },
  };
}

/** Streams the rows of a scope in a range of cells, ordered by cell, so that they can be read in chunks. */
export function rowsByCell<Row extends { readonly id: string }>(
  scope: Scope,
  { from, to }: CellRange,
  queries: Queries,
): Stream<Row> {
  const { cell = sql``, tie = "id" } = scope;
  const inCells = condition("in a range of cells", { "first cell": from, "last cell": to }, (parameter) => {
    return sql`${cell} between ${parameter("first cell")} and ${parameter("last cell")}`;
  });
  const selectWithCell = (parameter: Parameter) => sql`${selectOfScope(scope, parameter)}, ${cell} as its_cell`;
  const withCell = { ...scope, shape: `${scope.shape} and cell`, select: selectWithCell };
  const byCell: Order<Row> = {
    shape: "its cell",
    columns: [cell, sql.ref(tie)],
    keyOf: (row) => [(row as Row & { readonly its_cell: number }).its_cell, row.id], // `its_cell` is selected above
  };
  return scopeStream({ ...withCell, conditions: [...scope.conditions, inCells] }, byCell, false, queries);
}

/** Returns at most `count` rows of these scopes in these cells, unordered. */
export function rowsInCells<Row>(
  scopes: readonly Scope[],
  cells: readonly CellRange[],
  count: number,
  queries: Queries,
): Promise<Row[]> {
  return runInCells<Row>(
    "rows",
    scopes,
    cells,
    selectOfScope,
    (parameter) => sql`limit ${rowLimit(parameter)}`,
    count,
    queries,
  );
}

/** True if more than `bound` rows of a scope lie in these cells; an index-only scan where possible. */
export async function hasMoreInCells(
  scope: Scope,
  cells: readonly CellRange[],
  bound: number,
  queries: Queries,
): Promise<boolean> {
  const one = () => sql`1 as one`;
  const found = await runInCells(
    "more",
    [scope],
    cells,
    one,
    (parameter) => sql`limit 1 offset ${rowLimit(parameter)}`,
    bound,
    queries,
  );
  return found.length > 0;
}

function runInCells<Row>(
  what: string,
  scopes: readonly Scope[],
  cells: readonly CellRange[],
  selectOf: (scope: Scope, parameter: Parameter) => RawBuilder<unknown>,
  limit: (count: never) => RawBuilder<unknown>,
  count: number,
  queries: Queries,
): Promise<Row[]> {
  const values: Record<string, unknown> = { ...valuesOfCells(cells), count };
  for (const [position, scope] of scopes.entries()) {
    for (const [name, value] of Object.entries(valuesOf(scope))) values[`${position} ${name}`] = value;
  }
  const shape = `${what} of ${scopes.map(shapeOf).join(" and ")} in ${cells.length}`;
  return runShape<Row>(queries, shape, values, (parameter) => {
    const ranges = cells.map(
      (_, index) => sql`(cast(${parameter(`from ${index}`)} as bigint), cast(${parameter(`to ${index}`)} as bigint))`,
    );
    const parts = scopes.map((scope, position) => {
      const { from, cell = sql`` } = scope;
      const parameterOfScope: Parameter = (name) => parameter(`${position} ${name}`);
      const select = selectOf(scope, parameterOfScope);
      const conditions = conditionsOf(scope, parameterOfScope);
      const found = sql`${conditions} and ${cell} between span.low and span.high`;
      // Each engine needs its own syntax to loop over the ranges and search the index for each, instead of the reverse.
      return hasLateralJoins(queries)
        ? sql`select found.* from span cross join lateral (
            select ${select} from ${from} where ${found}
            order by ${cell} limit ${rowLimit(parameter("count"))} + 1
          ) as found`
        : sql`select ${select} from span cross join ${from} where ${found}`;
    });
    return compilable(
      sql<Row>`with span (low, high) as (values ${sql.join(ranges)})
        ${sql.join(parts, sql` union all `)} ${limit(parameter("count"))}`,
      queries,
    );
  });
}

function conditionsOf(scope: Scope, parameter: Parameter): RawBuilder<unknown> {
  return sql.join(
    scope.conditions.map((each) => each.sql(parameter)),
    sql` and `,
  );
}

function selectOfScope({ select }: Scope, parameter: Parameter): RawBuilder<unknown> {
  return typeof select === "function" ? select(parameter) : select;
}

function shapeOf(scope: Scope): string {
  return `${scope.shape} where ${scope.conditions.map(({ shape }) => shape).join(" and ")}`;
}

function valuesOf(scope: Scope): Readonly<Record<string, string | number>> {
  return Object.assign({}, ...scope.conditions.map(({ values }) => values));
}

function valuesOfCells(cells: readonly CellRange[]): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [index, { from, to }] of cells.entries()) {
    values[`from ${index}`] = from;
    values[`to ${index}`] = to;
  }
  return values;
}
