import { type RawBuilder, sql } from "kysely";
import type { DateRange } from "../lib/dates.ts";
import type { Key } from "../lib/keyset.ts";

/** Stands in a statement for a value of that name. */
export type Parameter = (name: string) => never;

/** A condition, apart from its values, so that its statement is built once for all values. */
export interface Condition {
  /** Unique for the text of the condition. Begins with `<column> =`, `>=` or `<=` where it is that: see `scopeStream`. */
  readonly shape: string;
  readonly values: Readonly<Record<string, string | number>>;
  sql(parameter: Parameter): RawBuilder<unknown>;
}

/**
 * An order that an index has: by a column, rows alike in it by `created_at` where they may be many, and in the end by what
 * is unique in the listing, an `id` as a rule. All columns run in one direction. The first may be an expression.
 */
export interface Order<Row> {
  /** The name of the first column. */
  readonly shape: string;
  readonly columns: readonly RawBuilder<unknown>[];
  /** The values of the columns: unique in the listing. */
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
 * By the index of the text's order, and then exactly where that is not exact. Both conditions on every text would count
 * twice where PostgreSQL estimates how many rows are left.
 */
export function textEquals(column: string, text: string): Condition {
  const key = `key of ${column}`;
  const isWhole = text.length < keyCharacters;
  return {
    shape: `${column} = ${isWhole ? "text" : "long text"}`,
    values: { [column]: text, [key]: textKey(text) },
    sql(parameter) {
      const isAlike = sql`${textKeySql(column)} = ${parameter(key)}`;
      return isWhole ? isAlike : sql`${isAlike} and ${sql.ref(column)} = ${parameter(column)}`;
    },
  };
}

/** Both ends belong to the range; an absent end is open. */
export function within(column: string, { start, end }: DateRange): Condition[] {
  const conditions: Condition[] = [];
  if (start !== undefined) conditions.push(compare(column, ">=", start));
  if (end !== undefined) conditions.push(compare(column, "<=", end));
  return conditions;
}

function compare(column: string, operator: ">=" | "<=" | ">", value: number | string): Condition {
  const shape = `${column} ${operator}`;
  return {
    shape,
    values: { [shape]: value },
    sql: (parameter) => sql`${sql.ref(column)} ${sql.raw(operator)} ${parameter(shape)}`,
  };
}

export function isAbove(column: string, value: number): Condition {
  return compare(column, ">", value);
}

/**
 * By its first characters, literally: a range of the column's own order. Of texts that have at most so many characters, the
 * last one with this beginning goes on with the last character that there is.
 */
export function beginsWith(column: string, prefix: string, charactersMax: number): Condition[] {
  const last = prefix + "\u{10FFFF}".repeat(Math.max(charactersMax - [...prefix].length, 0));
  return [compare(column, ">=", prefix), compare(column, "<=", last)];
}

/** A condition that is written out, with its values named in it. */
export function condition(
  shape: string,
  values: Readonly<Record<string, string | number>>,
  write: (parameter: Parameter) => RawBuilder<unknown>,
): Condition {
  return { shape, values, sql: write };
}

/** The order of a column of numbers that is never null. */
export function numberOrder<Column extends string>(
  column: Column,
): Order<{ readonly [Name in Column]: number } & { readonly id: string }> {
  return {
    shape: column,
    columns: [sql.ref(column), sql.ref("id")],
    keyOf: (row) => [row[column], row.id],
  };
}

/** The same of rows that are told apart by another column, which their `id` stands for. */
export function numberOrderBy<Column extends string>(column: Column, tie: string) {
  return { ...numberOrder(column), columns: [sql.ref(column), sql.ref(tie)] };
}

/** The order of rows by what they are told apart by, a column which their `id` stands for. */
export function tieOrder(tie: string): Order<{ readonly id: string }> {
  return { shape: tie, columns: [sql.ref(tie)], keyOf: (row) => [row.id] };
}

/** The order of a text column, rows alike in it by their creation. */
export function textOrder<Column extends string>(
  column: Column,
): Order<{ readonly [Name in Column]: string | null } & { readonly created_at: number; readonly id: string }> {
  return {
    shape: column,
    columns: [textKeySql(column), sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [textKey(row[column]), row.created_at, row.id],
  };
}

/** Index entries have a bounded size, so texts are ordered by this many characters. */
const keyCharacters = 128;

/** What a text is ordered by, an absent one first. */
function textKey(text: string | null): string {
  if (text === null) return "";
  return text.length <= keyCharacters ? text : [...text].slice(0, keyCharacters).join("");
}

/** The same in SQL, as the indexes have it. */
function textKeySql(column: string): RawBuilder<unknown> {
  return sql`coalesce(substr(${sql.ref(column)}, 1, 128), '')`;
}
