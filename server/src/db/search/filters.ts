import type { DateRange } from "../../lib/dates.ts";
import {
  equals,
  keyCharacters,
  numberOrder,
  type Order,
  textBeginsWith,
  textEquals,
  textOrder,
  within,
} from "./conditions.ts";
import type { Filter } from "./search.ts";

type Listed<Column extends string, Value> = { readonly [Name in Column]: Value } & {
  readonly created_at: number;
  readonly id: string;
};

/** The longest prefix that the truncated keys of an index can answer. */
export const textPrefixCharactersMax = keyCharacters;

/** A prefix of an indexed text column. */
export function textPrefixFilter<Column extends string>(
  column: Column,
  prefix: string,
): Filter<Listed<Column, string | null>> {
  return {
    conditions: textBeginsWith(column, prefix),
    isIn: (row) => row[column]?.startsWith(prefix) === true,
    index: { order: textOrder(column) },
  };
}

/** Equality of a text column whose index continues by creation time. */
export function textFilter<Column extends string>(column: Column, text: string): Filter<Listed<Column, string | null>> {
  return valueFilter(column, text, textEquals(column, text));
}

/** Equality of a column whose index continues by creation time. */
export function valueFilter<Column extends string>(
  column: Column,
  value: string,
  condition = equals(column, value),
): Filter<Listed<Column, string | null>> {
  return {
    conditions: [condition],
    isIn: (row) => row[column] === value,
    index: { order: byCreation, alikeIn: column },
  };
}

/**
 * A time range with inclusive ends.
 *
 * @param order the order of the column, if an index provides it
 */
export function rangeFilter<Column extends string, Row extends { readonly [Name in Column]: number | null }>(
  column: Column,
  range: DateRange,
  order?: Order<Row>,
): Filter<Row> {
  const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = range;
  return {
    conditions: within(column, range),
    isIn(row) {
      const time = row[column];
      return time !== null && start <= time && time <= end;
    },
    ...(order && { index: { order } }),
  };
}

const byCreation: Order<{ readonly created_at: number; readonly id: string }> = numberOrder("created_at");
