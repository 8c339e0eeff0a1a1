import {
  type CompiledQuery,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Queries } from "../database.ts";
import { createQueries, type ExecuteQuery, type PreparedRunner, type Statement } from "../prepared.ts";
import { createRowCompiler, type ToRow } from "../row-of-values.ts";
import type { RunOptions } from "./pool.ts";
import type { Rows } from "./session.ts";

/** Runs a statement, on any session or in a transaction. */
export type RunStatement = (sql: string, values: readonly unknown[], options?: RunOptions) => Promise<Rows>;

/** Creates queries that run on a connection of PostgreSQL. */
export function createPostgresQueries(execute: ExecuteQuery, runner?: PreparedRunner): Queries {
  return createQueries(engine, execute, runner);
}

const engine = {
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createIntrospector: (queries: Queries) => new PostgresIntrospector(queries),
};

/** Returns a function that runs statements of Kysely. */
export function executeBy(run: RunStatement): ExecuteQuery {
  return async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
    const rows = await run(sql, parameters);
    // The compiled query knows its row type.
    return { rows: rows as Iterable<unknown> as R[], numAffectedRows: BigInt(rows.count ?? 0) };
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

export function columnsOf(rows: Rows): string[] {
  return rows.columns.map(({ name }) => name);
}

/** The rows of a statement with `asArrays`. */
export function valuesOf(rows: Rows): readonly (readonly unknown[])[] {
  const arrays: Iterable<unknown> = rows;
  return arrays as unknown[][];
}
