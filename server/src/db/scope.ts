import { type RawBuilder, sql } from "kysely";
import type { CellRange } from "../lib/cells.ts";
import { compareKeys } from "../lib/keyset.ts";
import { type Condition, condition, type Order, type Parameter } from "./conditions.ts";
import type { Queries } from "./database.ts";
import { hasLateralJoins } from "./dialect.ts";
import { prepareShapes } from "./prepared.ts";
import { type Stream, sortRows, type Take } from "./stream.ts";

/** Rows of a table, or of a join, that meet all conditions: a part of a search that one index answers. */
export interface Scope {
  /** Unique for the texts of `from`, `select` and `cell`. */
  readonly shape: string;
  readonly from: RawBuilder<unknown>;
  readonly select: RawBuilder<unknown>;
  readonly conditions: readonly Condition[];
  /** The cell by which the rows are found in an area. */
  readonly cell?: RawBuilder<unknown>;
  /**
   * The table whose rows these are, when few of those that are walked over pass: then they are chosen by the index as far
   * as it goes, and only the chosen ones are read.
   */
  readonly chosenFrom?: string;
  /** The primary key of that table, where it is another than an id in an application. */
  readonly primaryKey?: readonly string[];
}

const runShape = prepareShapes();

/**
 * The rows of a scope in an order that one of its indexes has: nothing is counted or sorted.
 *
 * A row comparison finds its place in an index on columns. In one on an expression, which is what the longer orders have,
 * SQLite finds none by it: so first the other rows that are alike in the expression are read, and then those beyond it.
 * A page costs the same however many are alike, and wherever among them it begins.
 */
export function scopeStream<Row>(
  scope: Scope,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const shape = `${shapeOf(scope)} by ${order.shape}`;
  const scopeValues = valuesOf(scope);
  // What a condition makes alike in all rows orders nothing, and of an expression no engine sees that by itself.
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
    return runShape<Row>(queries, `${shape} ${isDown} ${part}`, values, (parameter) => {
      const key = columns.map((_, index) => sql`${parameter(`key ${index}`)}`);
      const sorted = sql.join(sortedBy.map((column) => (isDown ? sql`${column} desc` : sql`${column} asc`)));
      const found = sql`from ${scope.from} where ${conditionsOf(scope, parameter)} ${writePart(key)}
        order by ${sorted} limit ${parameter("count")}`;
      return compilable(selectFound<Row>(scope, found), queries);
    });
  }

  /** Chosen rows come as the engine likes. */
  function inOrder(rows: Row[], direction: Take["direction"]): Row[] {
    return scope.chosenFrom === undefined ? rows : sortRows(rows, { keyOf: order.keyOf, isDescending }, direction);
  }

  return {
    keyOf: order.keyOf,
    isDescending,
    async take({ direction, bound, count }) {
      const isDown = isDescending === (direction === "forward");
      const values: Record<string, unknown> = { ...scopeValues, count };
      if (bound === undefined) return inOrder(await read(isDown, values, "all", columns, () => sql``), direction);

      const keyValues = isAlike ? bound.key.slice(1) : bound.key;
      for (const [index, value] of keyValues.entries()) values[`key ${index}`] = value;
      // Of two bounds of one column an engine enters the index by either: so both are the narrower one.
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
        const found = await read(isDown, values, part, columns, (key) => {
          return sql`and (${sql.join([...columns])}) ${onSide} (${sql.join([...key])})`;
        });
        return inOrder(found, direction);
      }
      const alike = await read(isDown, values, `${part}, alike`, others, ([firstKey, ...otherKeys]) => {
        return sql`and ${first} = ${firstKey} and (${sql.join(others)}) ${onSide} (${sql.join(otherKeys)})`;
      });
      if (alike.length === count) return inOrder(alike, direction);
      values["count"] = count - alike.length;
      const rest = await read(isDown, values, "rest", columns, ([key]) => sql`and ${first} ${beyond} ${key}`);
      return inOrder([...alike, ...rest], direction);
    },
  };
}

function selectFound<Row>(
  { select, from, chosenFrom, primaryKey = idInApplication }: Scope,
  found: RawBuilder<unknown>,
): RawBuilder<Row> {
  if (chosenFrom === undefined) return sql<Row>`select ${select} ${found}`;
  const names = primaryKey.map((column) => [
    sql.ref(column),
    sql.ref(`${chosenFrom}.${column}`),
    sql.ref(`chosen_${column}`),
  ]);
  const chosen = names.map(([column, , name]) => sql`${column} as ${name}`);
  const isChosen = names.map(([, column, name]) => sql`${column} = ${name}`);
  return sql<Row>`select ${select}
    from (select ${sql.join(chosen)} ${found}) as chosen
    cross join ${from}
    where ${sql.join(isChosen, sql` and `)}`;
}

const idInApplication = ["application_id", "id"];

/** The rows of a scope that lie in these cells, for walking over the others. */
export function scopeInCells(scope: Scope, table: string, cells: readonly CellRange[]): Scope {
  const { cell = sql`` } = scope;
  const isInCells = condition(`in ${cells.length} cells`, valuesOfCells(cells), (parameter) => {
    const ranges = cells.map((_, index) => {
      return sql`${cell} between ${parameter(`from ${index}`)} and ${parameter(`to ${index}`)}`;
    });
    return sql`(${sql.join(ranges, sql` or `)})`;
  });
  return { ...scope, conditions: [...scope.conditions, isInCells], chosenFrom: table };
}

/** At most `count` rows of these scopes that lie in these cells, in no order. */
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
    ({ select }) => select,
    (parameter) => sql`limit ${parameter}`,
    count,
    queries,
  );
}

/** Whether more than so many rows of a scope lie in these cells: a look at the index alone, where it can. */
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
    (parameter) => sql`limit 1 offset ${parameter}`,
    bound,
    queries,
  );
  return found.length > 0;
}

function runInCells<Row>(
  what: string,
  scopes: readonly Scope[],
  cells: readonly CellRange[],
  selectOf: (scope: Scope) => RawBuilder<unknown>,
  limit: (count: never) => RawBuilder<unknown>,
  count: number,
  queries: Queries,
): Promise<Row[]> {
  const values: Record<string, unknown> = { ...valuesOfCells(cells), count };
  for (const [place, scope] of scopes.entries()) {
    for (const [name, value] of Object.entries(valuesOf(scope))) values[`${place} ${name}`] = value;
  }
  const shape = `${what} of ${scopes.map(shapeOf).join(" and ")} in ${cells.length}`;
  return runShape<Row>(queries, shape, values, (parameter) => {
    const ranges = cells.map(
      (_, index) => sql`(cast(${parameter(`from ${index}`)} as bigint), cast(${parameter(`to ${index}`)} as bigint))`,
    );
    const parts = scopes.map((scope, place) => {
      const { from, cell = sql`` } = scope;
      const conditions = conditionsOf(scope, (name) => parameter(`${place} ${name}`));
      const found = sql`${conditions} and ${cell} between span.low and span.high`;
      // Each engine has its way to be told to go through the ranges, and the index for each, and never the other way round.
      return hasLateralJoins(queries)
        ? sql`select found.* from span cross join lateral (
            select ${selectOf(scope)} from ${from} where ${found}
            order by ${cell} limit cast(${parameter("count")} as bigint) + 1
          ) as found`
        : sql`select ${selectOf(scope)} from span cross join ${from} where ${found}`;
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

/** What `prepareShapes` takes, of a statement that is written out. */
function compilable<Row>(statement: RawBuilder<Row>, queries: Queries) {
  return { compile: () => statement.compile(queries) };
}
