import { type RawBuilder, sql } from "kysely";
import type { CallWork } from "../../lib/call-work.ts";
import type { CellRange } from "../../lib/cells.ts";
import { compareKeys } from "../../lib/keyset.ts";
import type { Queries } from "../database.ts";
import { hasLateralJoins } from "../dialect.ts";
import { compilable, prepareShapes } from "../prepared.ts";
import { rowLimit } from "../row-limit.ts";
import { type Condition, condition, type Order, type Parameter } from "./conditions.ts";
import { padList } from "./list-lengths.ts";
import { type Stream, sortRows, type Taken } from "./stream.ts";

/** Rows of a table or join that meet all conditions: a part of a search that one index answers. */
export interface Scope {
  /** Unique for the SQL of `from`, `select` and `cell`. */
  readonly shape: string;
  readonly from: RawBuilder<unknown>;
  /**
   * A statement that returns the ids of a few rows as `few_id`, for a walk of only these, which are sorted. A condition
   * `id in (…)` would not work: without statistics, SQLite walks an index in the order of the listing, and tests each
   * row.
   */
  readonly few?: (parameter: Parameter) => RawBuilder<unknown>;
  /** The columns; with values of the conditions as parameters where a function makes them. */
  readonly select: RawBuilder<unknown> | ((parameter: Parameter) => RawBuilder<unknown>);
  readonly conditions: readonly Condition[];
  /** Columns whose conditions fix one value for all rows: a walk adds them, and selects only the others. */
  readonly constants?: { readonly select: RawBuilder<unknown>; readonly values: Readonly<Record<string, unknown>> };
  /** The cell column, for searches in an area. */
  readonly cell?: RawBuilder<unknown>;
  /** The column that breaks ties within a cell, if it is not `id`. */
  readonly tie?: string;
  /** A further condition, on columns that the indexes do not have. */
  readonly rowCondition?: Condition;
  /** True if the rows depend on no caller, so that callers who read the same part at the same time can share them. */
  readonly isForAll?: boolean;
  /** True for a table with the key `application_id`, `id`: then an index is enough to select the rows to read. */
  readonly isKeyedById?: boolean;
}

const runShape = prepareShapes();
const runFew = prepareShapes({ kind: "lookup", isCommon: false });
const runFewForAll = prepareShapes({ kind: "lookup", isCommon: true });
/** Up to this many rows are few enough to be read together with rows of other calls. */
const fewRowsMax = 101;

/**
 * Streams the rows of a scope in the order of one of its indexes, without counting or sorting.
 *
 * Engines can start an index scan at a row comparison of columns. SQLite cannot if the index begins with an expression,
 * as the longer orders do: so the remaining rows with the same value are read first, then those beyond it. A page costs
 * the same, however many rows share a value.
 */
export function scopeStream<Row>(
  scope: Scope,
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const complete = withAllConditions(scope);
  const { constants } = scope;
  const runFewHere = scope.isForAll === true ? runFewForAll : runFew;
  return walkOrder(complete, order, isDescending, async (shape, part, work) => {
    const isFew = Number(part.values["count"]) <= fewRowsMax;
    const rows = await (isFew ? runFewHere : runShape)<Row>(queries, shape, part.values, (parameter) => {
      const { from, few } = complete;
      const source = few === undefined ? from : sql`(${few(parameter)}) as few cross join ${from}`;
      const found = sql`from ${source} where ${part.conditions(parameter)} ${part.begin(parameter)}
        order by ${sortedBy(part.columns, part.isDown)} limit ${rowLimit(parameter("count"))}`;
      return compilable(sql<Row>`select ${constants?.select ?? selectOfScope(complete, parameter)} ${found}`, queries);
    });
    if (constants !== undefined) for (const row of rows) Object.assign(row as object, constants.values);
    work?.examined(rows.length);
    return { rows };
  });
}

/** The part of an index that one statement walks. */
interface IndexPart {
  readonly values: Readonly<Record<string, unknown>>;
  conditions(parameter: Parameter): RawBuilder<unknown>;
  /** A further condition: where the part begins. */
  begin(parameter: Parameter): RawBuilder<unknown>;
  readonly columns: readonly RawBuilder<unknown>[];
  readonly isDown: boolean;
}

/** @param read reads `count` rows of a part; the shape names the part */
function walkOrder<Row>(
  { conditions, ...rows }: Scope,
  order: Order<Row>,
  isDescending: boolean,
  read: (shape: string, part: IndexPart, work: CallWork | undefined) => Promise<Taken<Row>>,
): Stream<Row> {
  const scope = { ...rows, conditions: [...conditions, ...(order.conditions ?? [])] };
  const shape = `${shapeOf(scope)} by ${order.shape}`;
  const scopeValues = valuesOf(scope);
  // A column that a condition fixes does not affect the order, which no engine detects for expressions.
  const isFixed = scope.conditions.some((each) => `${each.shape} `.startsWith(`${order.shape} = `));
  const columns = isFixed ? order.columns.slice(1) : order.columns;
  const ranged = isFixed ? "created_at" : order.shape;
  const [first, ...others] = columns;

  return {
    keyOf: order.keyOf,
    isDescending,
    async take({ direction, bound, count }, work) {
      const isDown = isDescending === (direction === "forward");
      const values: Record<string, unknown> = { ...scopeValues, count };
      function readPart(
        name: string,
        partColumns: readonly RawBuilder<unknown>[],
        writePart: (key: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
      ): Promise<Taken<Row>> {
        const part: IndexPart = {
          values,
          conditions: (parameter) => conditionsOf(scope, parameter),
          begin: (parameter) => writePart(columns.map((_, index) => sql`${parameter(`key ${index}`)}`)),
          columns: partColumns,
          isDown,
        };
        return read(`${shape} ${isDown} ${name}`, part, work);
      }
      if (bound === undefined) return readPart("all", columns, () => sql``);

      const keyValues = isFixed ? bound.key.slice(1) : bound.key;
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
      const name = isInclusive ? "from the key" : "beyond the key";
      if (others.length <= 1) {
        return readPart(name, columns, (key) => sql`and (${sql.join([...columns])}) ${onSide} (${sql.join([...key])})`);
      }
      const alike = await readPart(`${name}, alike`, others, ([firstKey, ...otherKeys]) => {
        return sql`and ${first} = ${firstKey} and (${sql.join(others)}) ${onSide} (${sql.join(otherKeys)})`;
      });
      if (alike.rows.length === count || alike.reached !== undefined) return alike;
      values["count"] = count - alike.rows.length;
      const rest = await readPart("rest", columns, ([key]) => sql`and ${first} ${beyond} ${key}`);
      return { ...rest, rows: [...alike.rows, ...rest.rows] };
    },
  };
}

/** The entries of an index that a statement examines, for each requested row, within bounds. */
const entriesPerRow = 8;
const entriesMin = 256;
const entriesMax = 2_000;

/**
 * Streams the rows of a scope that lie in some cells, and a few others, in the order of an index. Each `take` examines
 * a bounded number of entries of the index, and reads only the rows whose cell matches; if it stops before the end of
 * the index, `reached` reports the position.
 */
export function streamInCells<Row extends { readonly id: string }>(
  scope: Scope,
  cells: readonly CellRange[],
  order: Order<Row>,
  isDescending: boolean,
  queries: Queries,
): Stream<Row> {
  const { from, cell = sql``, rowCondition } = scope;
  const cellValues = valuesOfCells(cells);
  return walkOrder<Row>(scope, order, isDescending, async (partShape, part, work) => {
    const count = Number(part.values["count"]);
    const entries = Math.min(Math.max(count * entriesPerRow, entriesMin), entriesMax);
    const values = { ...part.values, ...cellValues, entries, "entries before the last": entries - 1 };
    const shape = `${partShape} in ${cells.length} cells`;
    const found = await runShape<WalkedRow<Row>>(queries, shape, values, (parameter) => {
      const names = part.columns.map((_, index) => sql.ref(`order_${index}`));
      const keys = part.columns.map((column, index) => sql`${column} as ${sql.ref(`order_${index}`)}`);
      const sorted = sortedBy(names, part.isDown);
      const ranges = cells.map(
        (_, index) => sql`its_cell between ${parameter(`from ${index}`)} and ${parameter(`to ${index}`)}`,
      );
      const isIn =
        rowCondition === undefined ? sql`1` : sql`case when ${rowCondition.sql(parameter)} then 1 else 0 end`;
      const row = sql`select ${selectOfScope(scope, parameter)}, ${isIn} as is_in`;
      const isFound = sql`application_id = ${parameter("application_id")} and id = found.its_id`;
      const isLast = sql`found.its_id in (select its_id from final) as is_last`;
      // Each engine needs its own syntax to look up each row by its key, instead of reading the table.
      const rowsFound = hasLateralJoins(queries)
        ? sql`select its_row.*, ${isLast}
            from found cross join lateral (${row} from ${from} where ${isFound} limit 1) as its_row`
        : sql`${row}, ${isLast} from found cross join ${from} where ${isFound}`;
      return compilable(
        sql<WalkedRow<Row>>`with entry as materialized (
            select id as its_id, ${cell} as its_cell, ${sql.join(keys)} from ${from}
            where ${part.conditions(parameter)} ${part.begin(parameter)}
            order by ${sortedBy(part.columns, part.isDown)} limit ${rowLimit(parameter("entries"))}
          ), near as (
            select its_id from entry where ${sql.join(ranges, sql` or `)}
            order by ${sorted} limit ${rowLimit(parameter("count"))}
          ), final as (
            select its_id from entry order by ${sorted} limit 1 offset ${rowLimit(parameter("entries before the last"))}
          ), found as (select its_id from near union select its_id from final)
          ${rowsFound}`,
        queries,
      );
    });
    const rows = sortRows<WalkedRow<Row>>(found, { keyOf: order.keyOf, isDescending: part.isDown }, "forward").slice(
      0,
      count,
    );
    const last = rows.at(-1);
    const isFull = rows.length === count;
    work?.examined(last?.is_last ? entries : rows.length);
    return {
      rows: rows.filter(({ is_in }) => is_in === 1),
      ...(last !== undefined && (isFull || last.is_last) && { reached: order.keyOf(last) }),
    };
  });
}

/** A row with its columns of the walk: numbers on SQLite; on PostgreSQL `is_last` is a boolean. */
type WalkedRow<Row> = Row & { readonly is_in: number; readonly is_last: number | boolean };

function sortedBy(columns: readonly RawBuilder<unknown>[], isDown: boolean): RawBuilder<unknown> {
  return sql.join(columns.map((column) => (isDown ? sql`${column} desc` : sql`${column} asc`)));
}

function withAllConditions(scope: Scope): Scope {
  const { conditions, rowCondition } = scope;
  return rowCondition === undefined ? scope : { ...scope, conditions: [...conditions, rowCondition] };
}

const orderByCell = "its cell";

/** Streams the rows of a scope in a range of cells, ordered by cell, so that they can be read in chunks. */
export function rowsByCell<Row extends { readonly id: string }>(
  scope: Scope,
  { from, to }: CellRange,
  queries: Queries,
): Stream<Row> {
  const { cell = sql``, tie = "id" } = scope;
  // The names by which the walk moves the bound to its key: otherwise each chunk would begin at the first cell again.
  const [first, last] = [`${orderByCell} >=`, `${orderByCell} <=`];
  const inCells = condition("in a range of cells", { [first]: from, [last]: to }, (parameter) => {
    return sql`${cell} between ${parameter(first)} and ${parameter(last)}`;
  });
  const selectWithCell = (parameter: Parameter) => sql`${selectOfScope(scope, parameter)}, ${cell} as its_cell`;
  const { constants: _, ...others } = scope;
  const withCell = { ...others, shape: `${scope.shape} and cell`, select: selectWithCell };
  const byCell: Order<Row> = {
    shape: orderByCell,
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
    scopes.map(withAllConditions),
    cells,
    selectOfScope,
    (parameter) => sql`limit ${rowLimit(parameter)}`,
    count,
    queries,
  );
}

/** An entry of the index of a scope's cells. */
export interface CellEntry {
  /** The scope's `tie`. */
  readonly id: string;
  readonly entry_cell: number;
}

/** The index entries of a scope's cells, without its `rowCondition`: an index-only scan where possible. */
export function entriesOf({ rowCondition: _, constants: __, ...scope }: Scope): Scope {
  const { shape, cell = sql``, tie = "id" } = scope;
  return { ...scope, shape: `${shape} entries`, select: sql`${sql.ref(tie)} as id, ${cell} as entry_cell` };
}

/** Returns the rows of a scope with these values of its `tie`, unordered. */
export async function rowsByTie<Row>(scope: Scope, ties: readonly string[], queries: Queries): Promise<Row[]> {
  const complete = withAllConditions(scope);
  const { from, tie = "id" } = scope;
  const list = padList(ties);
  const values: Record<string, unknown> = { ...valuesOf(complete) };
  for (const [index, value] of list.entries()) values[`tie ${index}`] = value;
  return runShape<Row>(queries, `${shapeOf(complete)} of ${list.length} ties`, values, (parameter) => {
    const listed = sql.join(list.map((_, index) => sql`${parameter(`tie ${index}`)}`));
    const conditions = sql`${conditionsOf(complete, parameter)} and ${sql.ref(tie)} in (${listed})`;
    return compilable(sql<Row>`select ${selectOfScope(complete, parameter)} from ${from} where ${conditions}`, queries);
  });
}

/**
 * True if more than `bound` rows of a scope lie in these cells, without its `rowCondition`: an index-only scan where
 * possible.
 */
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
