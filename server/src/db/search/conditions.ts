import { type RawBuilder, sql } from "kysely";
import type { DateRange } from "../../lib/dates.ts";
import type { Key } from "../../lib/keyset.ts";

/** Places the named value in a statement. */
export type Parameter = (name: string) => never;

/** A condition without its values, so that its statement is built once for all values. */
export interface Condition {
  /**
   * Unique for the SQL of the condition. Begins with `<column> =`, `>=` or `<=` if the condition does: see
   * `scopeStream`.
   */
  readonly shape: string;
  readonly values: Readonly<Record<string, string | number>>;
  sql(parameter: Parameter): RawBuilder<unknown>;
}

/**
 * An order that an index provides: by a column, then by `created_at` if many rows may share a value, then by a column
 * that is unique in the listing, usually `id`. All columns run in the same direction. The first may be an expression.
 */
export interface Order<Row> {
  /** The name of the first column. */
  readonly shape: string;
  readonly columns: readonly RawBuilder<unknown>[];
  /** Conditions that hold for all rows; the engine uses a partial index only if the statement repeats them. */
  readonly conditions?: readonly Condition[];
  /** The values of the columns, unique in the listing. */
  keyOf(row: Row): Key;
}

export function equals(column: string, value: string | number): Condition {
  return {
    shape: `${column} =`,
    values: { [column]: value },
    sql: (parameter) => sql`${sql.ref(column)} = ${parameter(column)}`,
  };
}

/**
 * Compares by the ordered index, then exactly if the index is truncated. PostgreSQL would count two conditions on every
 * string twice in its row estimate.
 */
export function textEquals(column: string, text: string): Condition {
  const key = `key of ${column}`;
  const isShort = text.length < keyCharacters;
  return {
    shape: `${column} = ${isShort ? "text" : "long text"}`,
    values: { [column]: text, [key]: textKey(text) },
    sql(parameter) {
      const isKeyEqual = sql`${textKeySql(column)} = ${parameter(key)}`;
      return isShort ? isKeyEqual : sql`${isKeyEqual} and ${sql.ref(column)} = ${parameter(column)}`;
    },
  };
}

/** Both ends are inclusive; an absent one is open. */
export function within(column: string, { start, end }: DateRange, written?: RawBuilder<unknown>): Condition[] {
  const conditions: Condition[] = [];
  if (start !== undefined) conditions.push(compare(column, ">=", start, written));
  if (end !== undefined) conditions.push(compare(column, "<=", end, written));
  return conditions;
}

function compare(
  column: string,
  operator: ">=" | "<=" | ">",
  value: number | string,
  written: RawBuilder<unknown> = sql.ref(column),
): Condition {
  const shape = `${column} ${operator}`;
  return {
    shape,
    values: { [shape]: value },
    sql: (parameter) => sql`${written} ${sql.raw(operator)} ${parameter(shape)}`,
  };
}

export function isAbove(column: string, value: number): Condition {
  return compare(column, ">", value);
}

/**
 * Matches a literal prefix as a range of the column's order. For strings of bounded length, the upper end is the prefix
 * padded with the highest character.
 */
export function beginsWith(
  column: string,
  prefix: string,
  charactersMax: number,
  written: RawBuilder<unknown> = sql.ref(column),
): Condition[] {
  return [compare(column, ">=", prefix, written), compare(column, "<=", lastWith(prefix, charactersMax), written)];
}

/** The last string of this length, in the order of the engines, that has the prefix. */
export function lastWith(prefix: string, charactersMax: number): string {
  return prefix + "\u{10FFFF}".repeat(Math.max(charactersMax - [...prefix].length, 0));
}

/** Like `beginsWith`, regardless of the case of the letters A to Z. */
export function lowerBeginsWith(column: string, prefix: string, charactersMax: number): Condition[] {
  return beginsWith(`lower(${column})`, lowerText(prefix), charactersMax, lowerSql(column));
}

/** The case mapping of `lower` on both engines: only the letters A to Z have another case. */
export function lowerText(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function lowerSql(column: string): RawBuilder<unknown> {
  return sql`lower(${sql.ref(column)})`;
}

/** The order of a text column regardless of the case of the letters A to Z, ties by another column. */
export function lowerOrder<Column extends string, Tie extends string>(
  column: Column,
  tie: Tie,
): Order<{ readonly [Name in Column | Tie]: string | null }> {
  return {
    shape: `lower(${column})`,
    columns: [lowerSql(column), sql.ref(tie)],
    keyOf: (row) => [lowerText(row[column] ?? ""), row[tie] ?? ""],
  };
}

/** Like `beginsWith`, for a text column that may be null and whose index is truncated. */
export function textBeginsWith(column: string, prefix: string): Condition[] {
  return beginsWith(`key of ${column}`, prefix, keyCharacters, textKeySql(column));
}

/** Builds a condition from SQL text that names its values. */
export function condition(
  shape: string,
  values: Readonly<Record<string, string | number>>,
  write: (parameter: Parameter) => RawBuilder<unknown>,
): Condition {
  return { shape, values, sql: write };
}

/** The order of a numeric column that is never null. */
export function numberOrder<Column extends string>(
  column: Column,
): Order<{ readonly [Name in Column]: number } & { readonly id: string }> {
  return {
    shape: column,
    columns: [sql.ref(column), sql.ref("id")],
    keyOf: (row) => [row[column], row.id],
  };
}

/** Like `numberOrder`, for rows whose `id` stands for another unique column. */
export function numberOrderBy<Column extends string>(column: Column, tie: string) {
  return { ...numberOrder(column), columns: [sql.ref(column), sql.ref(tie)] };
}

/** Orders rows by their unique column, which their `id` stands for. */
export function tieOrder(tie: string): Order<{ readonly id: string }> {
  return { shape: tie, columns: [sql.ref(tie)], keyOf: (row) => [row.id] };
}

/** The order of a text column, ties by creation time. */
export function textOrder<Column extends string>(
  column: Column,
): Order<{ readonly [Name in Column]: string | null } & { readonly created_at: number; readonly id: string }> {
  return {
    shape: column,
    columns: [textKeySql(column), sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [textKey(row[column]), row.created_at, row.id],
  };
}

/** Text columns are ordered by this many characters, because index entries have a bounded size. */
export const keyCharacters = 128;

/** The sort key of a text column; null sorts first. */
function textKey(text: string | null): string {
  if (text === null) return "";
  return text.length <= keyCharacters ? text : [...text].slice(0, keyCharacters).join("");
}

/** The same key in SQL, written as the indexes are. */
function textKeySql(column: string): RawBuilder<unknown> {
  return sql`coalesce(substr(${sql.ref(column)}, 1, 128), '')`;
}
