import { compileObject } from "../../lib/compile-object.ts";
import { type CurrentCall, currentCall, runInCall } from "../../lib/current-call.ts";
import { ApiError } from "../../lib/errors.ts";
import type { Lookup, Statement, Values } from "../prepared.ts";
import type { RunStatement } from "./pool.ts";
import type { Rows } from "./session.ts";

/** A statement that waits for the end of the tick. */
export interface Waiting<Values> {
  readonly values: Values;
  readonly call: CurrentCall | undefined;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: unknown) => void;
}

type Lookups = readonly Waiting<Values>[];

/** Bounds the time of one statement, for which the lookups in it wait. */
const lookupsMax = 32;

/**
 * Sends equal lookups in one application that are requested in one tick as one statement: a statement costs the driver
 * and the server several times as much as the rows that it finds.
 */
export function createLookups(run: RunStatement): (lookup: Lookup, values: Values) => Promise<unknown[]> {
  function send(lookup: Lookup, waiting: Lookups): void {
    const [first] = waiting;
    if (first === undefined || waiting.length === 1) {
      sendSeparately(lookup, waiting);
      return;
    }
    const { sql, names, rowsOf } = batchOf(lookup, first.values);
    const lists = names.map((name) => arrayLiteral(waiting.map(({ values }) => values[name])));
    const calls = waiting.map(({ call }) => call);
    run(sql, [first.values[lookup.application], ...lists], { asArrays: true, calls }).then(
      (found) => {
        const rows = rowsOf(found, waiting.length);
        for (const [index, { resolve }] of waiting.entries()) resolve(rows[index] ?? []);
      },
      (error) => {
        if (!(error instanceof ApiError)) return sendSeparately(lookup, waiting); // one of the lookups may be the reason
        for (const { reject } of waiting) reject(error); // the database cannot be used now
      },
    );
  }

  function sendSeparately(lookup: Lookup, waiting: Lookups): void {
    for (const { values, call, resolve, reject } of waiting) {
      const given = lookup.names.map((name) => values[name]);
      runInCall(call, () => readRows(run, lookup, given)).then(resolve, reject);
    }
  }

  return createTickQueue((lookup, waiting) => {
    const distinct = lookup.isCommon ? joinEqual(lookup, waiting) : waiting;
    const byApplication = Map.groupBy(distinct, ({ values }) => values[lookup.application]);
    for (const ofApplication of byApplication.values()) {
      for (let from = 0; from < ofApplication.length; from += lookupsMax) {
        send(lookup, ofApplication.slice(from, from + lookupsMax));
      }
    }
  });
}

/** Joins equal lookups into one. */
function joinEqual({ names }: Lookup, waiting: Lookups): Lookups {
  const [first = ""] = names;
  const byValues = Map.groupBy(waiting, ({ values }) =>
    names.length === 1 ? values[first] : JSON.stringify(names.map((name) => values[name])),
  );
  return [...byValues.values()].flatMap((equal) => {
    const [one] = equal;
    if (one === undefined || equal.length === 1) return equal;
    return {
      ...one,
      resolve(rows: unknown[]) {
        for (const { resolve } of equal) resolve([...rows]);
      },
      reject(error: unknown) {
        for (const { reject } of equal) reject(error);
      },
    };
  });
}

/** The statement for several lookups. */
interface LookupBatch {
  readonly sql: string;
  /** The values that differ between the lookups. */
  readonly names: readonly string[];
  /** @returns the rows of each of `count` lookups */
  rowsOf(found: Rows, count: number): unknown[][];
}

const statements = new WeakMap<Lookup, LookupBatch>();

/** @param values the values of one lookup, which determine the types */
function batchOf(lookup: Lookup, values: Values): LookupBatch {
  const prepared = statements.get(lookup);
  if (prepared !== undefined) return prepared;
  const names = [...new Set(lookup.names)].filter((name) => name !== lookup.application);
  const lists = names.map((name, index) => `$${index + 2}::${typeof values[name] === "number" ? "bigint" : "text"}[]`);
  const aliases = names.map((_, index) => `value_${index}`);
  const one = lookup.sql.replaceAll(/\$(\d+)/g, (_, position) => {
    const name = lookup.names[Number(position) - 1] ?? "";
    return name === lookup.application ? "$1" : `given.value_${names.indexOf(name)}`;
  });
  // `offset 0` prevents the planner from merging the two queries, so each lookup has the plan of a single one. A
  // lateral query runs once per outer row, in a nested loop, so the rows of each lookup stay in order.
  const sql = `select given.position, found.*
    from unnest(${lists.join(", ")}) with ordinality as given (${[...aliases, "position"].join(", ")}),
    lateral (${one} offset 0) as found`;
  const rowOf = createRowCompiler(1);
  const made: LookupBatch = {
    sql,
    names,
    rowsOf(found, count) {
      const toRow = rowOf(columnsOf(found));
      const each: unknown[][] = Array.from({ length: count }, () => []);
      for (const row of valuesOf(found)) each[Number(row[0]) - 1]?.push(toRow(row));
      return each;
    },
  };
  statements.set(lookup, made);
  return made;
}

/** An array in the text format of PostgreSQL. */
function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(itemLiteral).join()}}`;
}

function itemLiteral(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return String(value);
  const text = String(value);
  return `"${needsEscape.test(text) ? text.replaceAll(/["\\]/g, "\\$&") : text}"`;
}

const needsEscape = /["\\]/;

/** Creates the object of a row. */
type ToRow = (values: readonly unknown[]) => unknown;

/**
 * Caches the compiled function of one statement until its columns change, for example after a migration.
 *
 * @param from the index of the first column of the object
 */
export function createRowCompiler(from = 0): (columns: readonly string[]) => ToRow {
  let compiledFor: readonly string[] = [];
  let toRow: ToRow = compileObject([]);
  return (columns) => {
    if (columns.length !== compiledFor.length || columns.some((name, index) => name !== compiledFor[index])) {
      compiledFor = columns;
      toRow = compileObject(columns.map((name, index) => ({ name, from: index })).slice(from));
    }
    return toRow;
  };
}

const rowCompilers = new WeakMap<Statement, (columns: readonly string[]) => ToRow>();

/** Runs a prepared statement, and reads its rows as objects. */
export async function readRows(
  run: RunStatement,
  statement: Statement,
  values: readonly unknown[],
): Promise<unknown[]> {
  const rows = await run(statement.sql, values, { asArrays: true });
  const compile = rowCompilers.getOrInsertComputed(statement, () => createRowCompiler());
  return valuesOf(rows).map(compile(columnsOf(rows)));
}

function columnsOf(rows: Rows): string[] {
  return rows.columns.map(({ name }) => name);
}

/** The rows of a statement with `asArrays`. */
function valuesOf(rows: Rows): readonly (readonly unknown[])[] {
  const arrays: Iterable<unknown> = rows;
  return arrays as unknown[][];
}

/** Collects the statements of one tick, and sends statements of the same kind together. */
export function createTickQueue<Kind, Values>(
  send: (kind: Kind, waiting: readonly Waiting<Values>[]) => void,
): (kind: Kind, values: Values) => Promise<unknown[]> {
  let kinds = new Map<Kind, Waiting<Values>[]>();

  function flush(): void {
    const flushed = kinds;
    kinds = new Map();
    for (const [kind, waiting] of flushed) send(kind, waiting);
  }

  return (kind, values) =>
    new Promise((resolve, reject) => {
      if (kinds.size === 0) setImmediate(flush);
      const one = { values, call: currentCall(), resolve, reject };
      const waiting = kinds.get(kind);
      if (waiting === undefined) kinds.set(kind, [one]);
      else waiting.push(one);
    });
}
