import { type RawBuilder, sql } from "kysely";
import { type Schema, Type } from "../contract/schema.ts";
import { ClearableText, DateInput, DateRangeInput, Text, WireDate } from "../contract/wire.ts";
import { condition, numberOrder, type Order, textOrder, within } from "../db/search/conditions.ts";
import { textFilter } from "../db/search/filters.ts";
import type { Filter } from "../db/search/search.ts";
import { type DateRange, formatDate } from "../lib/dates.ts";

/** A field of one kind of object. */
export interface OwnedField<Row> {
  readonly name: string;
  readonly column: string;
  /**
   * The schemas for creating and searching, for changing (the empty string clears a text field), and of results. A
   * field without `change` is set at the creation only.
   */
  readonly input: Schema;
  readonly change?: Schema;
  readonly result: Schema;
  valueOf(row: Row): string | number | null;
  /** Searches can filter and sort by the field: its column is indexed. */
  readonly search?: FieldSearch<Row>;
}

interface FieldSearch<Row> {
  readonly order: Order<Row>;
  /** In place of `input`, if searches take something else. */
  readonly input?: Schema;
  /** @param value as `input` reads it */
  filterOf(value: unknown): Filter<Row>;
}

type WithColumn<Column extends string, Value> = { readonly [Name in Column]: Value } & {
  readonly created_at: number;
  readonly id: string;
};

/** A field for text of bounded length. */
export function textField<Column extends string>(
  name: string,
  column: Column,
  maxLength: number,
  description?: string,
): OwnedField<WithColumn<Column, string | null>> {
  const keywords = { maxLength, ...(description !== undefined && { description }) };
  return textFieldOf(name, column, Text(keywords), ClearableText(keywords));
}

/** A field for text in another format. */
export function textFieldOf<Column extends string>(
  name: string,
  column: Column,
  input: Schema<string>,
  change: Schema<string> = input,
): OwnedField<WithColumn<Column, string | null>> {
  return {
    ...{ name, column, input, change, result: Type.String(described(input)) },
    valueOf: (row) => row[column],
    search: { order: textOrder(column), filterOf: (value) => textFilter(column, `${value}`) },
  };
}

/** The input's description also applies to results. */
function described({ description }: Schema) {
  return description === undefined ? {} : { description };
}

/** Like `textField`, without a search. */
export function unsearchedTextField<Column extends string>(
  name: string,
  column: Column,
  maxLength: number,
): OwnedField<WithColumn<Column, string | null>> {
  const { search: _, ...field } = textField(name, column, maxLength);
  return field;
}

/** A number from 0 up. */
export function countField<Column extends string>(
  name: string,
  column: Column,
  input: Schema<number>,
  result: Schema<number>,
): OwnedField<WithColumn<Column, number | null>> {
  return {
    ...{ name, column, input, change: input, result },
    valueOf: (row) => row[column],
    search: {
      order: countOrder(column),
      filterOf: (value) => ({
        conditions: [
          condition(
            `${column} =`,
            { [column]: Number(value) },
            (parameter) => sql`${countSql(column)} = ${parameter(column)}`,
          ),
        ],
        isIn: (row) => row[column] === value,
        index: { order: numberOrder("created_at"), alikeIn: column },
      }),
    },
  };
}

/** A time that is set at the creation only. Where it is absent, searches take the time of the creation. */
export function timeField<Column extends string>(
  name: string,
  column: Column,
  description: string,
): OwnedField<WithColumn<Column, number | null>> {
  const timeOf = (row: WithColumn<Column, number | null>): number => row[column] ?? row.created_at;
  const written = sql`coalesce(${sql.ref(column)}, created_at)`;
  const order: Order<WithColumn<Column, number | null>> = {
    shape: column,
    columns: [written, sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [timeOf(row), row.created_at, row.id],
  };
  return {
    ...{ name, column, input: DateInput({ description }), result: { ...WireDate, description } },
    valueOf: (row) => (row[column] === null ? null : formatDate(row[column])),
    search: {
      order,
      input: DateRangeInput(),
      filterOf(value) {
        const range = value as DateRange; // as `input` reads it
        const { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY } = range;
        return {
          conditions: within(column, range, written),
          isIn: (row) => start <= timeOf(row) && timeOf(row) <= end,
          index: { order },
        };
      },
    },
  };
}

/** The order by a numeric column from 0 up: absent values first, ties by creation. */
function countOrder<Column extends string>(column: Column): Order<WithColumn<Column, number | null>> {
  return {
    shape: column,
    columns: [countSql(column), sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [row[column] ?? -1, row.created_at, row.id],
  };
}

function countSql(column: string): RawBuilder<unknown> {
  return sql`coalesce(${sql.ref(column)}, -1)`;
}

/** Fields that the static type of a contract omits, because handlers read them through their declaration. */
type ByName = Readonly<Record<never, never>>;

/** The parameters of searches, to be spread into the others. */
export function filtersOf(fields: readonly OwnedField<never>[]): ByName {
  const searched = fields.filter(({ search }) => search !== undefined);
  return inputsOf(
    searched.map((field) => ({
      ...field,
      input: { ...(field.search?.input ?? field.input), description: `Only objects with this ${field.name}.` },
    })),
  );
}

/** The parameters of creations. */
export function inputsOf(fields: readonly OwnedField<never>[]): ByName {
  return Object.fromEntries(fields.map(({ name, input }) => [name, Type.Optional(input)]));
}

/** The parameters of changes. */
export function changesOf(fields: readonly OwnedField<never>[]): ByName {
  return Object.fromEntries(fields.flatMap(({ name, change }) => (change ? [[name, Type.Optional(change)]] : [])));
}

/** The schemas of the fields in results. */
export function resultsOf(fields: readonly OwnedField<never>[]): ByName {
  return Object.fromEntries(fields.map(({ name, result }) => [name, Type.Optional(result)]));
}

/** The columns of the given fields. */
export function columnsOf(fields: readonly OwnedField<never>[], parameters: object): ByName {
  const given: Readonly<Record<string, unknown>> = { ...parameters };
  const present = fields.filter(({ name }) => given[name] !== undefined);
  return Object.fromEntries(present.map(({ name, column }) => [column, given[name] === "" ? null : given[name]]));
}
