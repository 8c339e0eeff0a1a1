import { type Compilable, CompiledQuery, type Dialect, Kysely, type QueryResult, type RawBuilder } from "kysely";
import type { Queries } from "./database.ts";
import type { Tables } from "./tables.ts";

/** Stands for a value while a statement is built. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The values of a statement, by name. */
export type Values = Readonly<Record<string, unknown>>;

/** A compiled statement: the same object on every run. */
export interface Statement {
  readonly sql: string;
}

/** A compiled statement that finds few rows by their keys. */
export interface Lookup extends Statement {
  /** The name of the value for each of its placeholders. */
  readonly names: readonly string[];
  /** The name of the application's id, by which a distributed database finds the one shard to ask. */
  readonly application: string;
  /** Many callers run it with the same values: equal ones of a tick are sent once, and share their rows. */
  readonly isCommon: boolean;
}

/** A compiled statement that adds one row. */
export interface Addition {
  /** The statement up to and with the word `values`. */
  readonly head: string;
  /** The statement after the row. */
  readonly tail: string;
  readonly columnCount: number;
  /** The unique columns among the returned ones, with the positions of their values. */
  readonly keys: readonly { readonly column: string; readonly index: number }[];
}

/** The kind of a statement: an engine may send several lookups or inserts of a tick as one statement. */
type StatementKind =
  | { readonly kind: "any" }
  | { readonly kind: "lookup"; readonly isCommon: boolean }
  | { readonly kind: "insert"; readonly keys: readonly string[] };

interface Prepared {
  readonly compiled: CompiledQuery;
  readonly lookup: Lookup | undefined;
  /** Made when an engine first asks for it. */
  addition?: Addition;
}

type BuildStatement<Parameters extends object, Row> = (
  queries: Queries,
  parameter: <Name extends keyof Parameters & string>(name: Name) => Parameters[Name],
) => Compilable<Row>;

type RunStatement<Parameters extends object, Row> = (queries: Queries, parameters: Parameters) => Promise<Row[]>;

/**
 * Prepares a statement for the hot path: built and compiled once per engine, then run with values only. This saves
 * half the time of a point read.
 *
 * @param build builds the statement; `parameter("name")` stands for the value of that name
 */
export function prepare<Parameters extends object, Row>(
  build: BuildStatement<Parameters, Row>,
): RunStatement<Parameters, Row> {
  return prepareAs({ kind: "any" }, build);
}

/**
 * Prepares a statement that finds few rows by an index. Its values are strings and integers, and the application's id
 * is one of them. An engine may send several of them as one statement.
 *
 * @param options `isCommon`: many callers run it with the same values, so equal ones of a tick are sent once, and the
 * callers share the rows, which must not be changed
 */
export function prepareLookup<Parameters extends object, Row>(
  build: BuildStatement<Parameters, Row>,
  { isCommon = false } = {},
): RunStatement<Parameters, Row> {
  return prepareAs({ kind: "lookup", isCommon }, build);
}

/**
 * Prepares a statement that inserts one row, all columns of which are parameters. An engine may send several of them as
 * one statement.
 *
 * @param keys for a statement that returns its row: unique columns, with parameters of the same name. A returned row has
 * one of their values, and none of them twice
 */
export function prepareInsert<Parameters extends object, Row>(
  build: BuildStatement<Parameters, Row>,
  keys: readonly string[] = [],
): RunStatement<Parameters, Row> {
  return prepareAs({ kind: "insert", keys }, build);
}

function prepareAs<Parameters extends object, Row>(
  kind: StatementKind,
  build: BuildStatement<Parameters, Row>,
): RunStatement<Parameters, Row> {
  const statements = new Map<string, Prepared>();
  // `build` asks for the names in Parameters.
  return (queries, parameters) =>
    run<Row>(statements, "", queries, parameters, kind, (name) => build(queries, name as never));
}

/** Enough for every shape of a search; the bound only guards against unforeseen shapes. */
const shapesMax = 5_000;

type RunShape = <Row>(
  queries: Queries,
  shape: string,
  parameters: Readonly<Record<string, unknown>>,
  build: (parameter: (name: string) => never) => Compilable<Row>,
) => Promise<Row[]>;

/**
 * Prepares statements whose shape depends on the request: each shape is built and compiled once.
 *
 * @returns runs the statement of a shape. Two calls with the same shape must build the same statement, except for the
 * values
 */
export function prepareShapes(kind: StatementKind = { kind: "any" }): RunShape {
  const statements = new Map<string, Prepared>();
  return (queries, shape, parameters, build) => {
    if (statements.size > shapesMax) statements.clear();
    return run(statements, shape, queries, parameters, kind, build);
  };
}

/** Wraps a written-out statement for `prepare` and `prepareShapes`. */
export function compilable<Row>(statement: RawBuilder<Row>, queries: Queries): Compilable<Row> {
  return { compile: () => statement.compile(queries) };
}

async function run<Row>(
  statements: Map<string, Prepared>,
  shape: string,
  queries: Queries,
  parameters: object,
  kind: StatementKind,
  build: (parameter: (name: string) => never) => Compilable<Row>,
): Promise<Row[]> {
  const key = engineOf(queries) + shape;
  let prepared = statements.get(key);
  if (prepared === undefined) {
    // The builder treats the placeholder as a value and returns it in `parameters`.
    const compiled = build((name) => new Placeholder(name) as never).compile();
    prepared = { compiled, lookup: kind.kind === "lookup" ? lookupOf(compiled, kind.isCommon) : undefined };
    statements.set(key, prepared);
  }
  const { compiled, lookup } = prepared;
  const named = parameters as Values; // the values of any interface are read by name
  const runner = runners.get(queries);
  const looked = lookup && runner?.lookUp?.(lookup, named);
  // `Row` is the type that the builder declares for the selected columns.
  if (looked !== undefined) return (await looked) as Row[];
  const values = compiled.parameters.map((bound) => (bound instanceof Placeholder ? named[bound.name] : bound));
  if (kind.kind === "insert" && runner?.add !== undefined) {
    prepared.addition ??= additionOf(compiled, kind.keys);
    return (await runner.add(prepared.addition, values)) as Row[];
  }
  const rows = runner?.run?.(compiled, values);
  if (rows !== undefined) return (await rows) as Row[];
  return (await queries.executeQuery<Row>(CompiledQuery.raw(compiled.sql, values))).rows;
}

/** Runs prepared statements without Kysely's executor. */
export interface PreparedRunner {
  /** @returns undefined when the statement must run like others */
  run?(statement: Statement, values: unknown[]): unknown[] | Promise<unknown[]> | undefined;
  /** @returns undefined when this lookup must run like other statements */
  lookUp?(lookup: Lookup, values: Values): Promise<unknown[]> | undefined;
  add?(addition: Addition, values: readonly unknown[]): Promise<unknown[]>;
}

const runners = new WeakMap<Queries, PreparedRunner>();

/** Runs a statement of Kysely. */
export type ExecuteQuery = <R>(query: CompiledQuery) => Promise<QueryResult<R>>;

/**
 * Creates queries whose statements are compiled for an engine.
 *
 * @param execute runs each statement, on a connection that it chooses
 * @param runner runs the prepared statements
 */
export function createQueries(
  engine: Pick<Dialect, "createAdapter" | "createQueryCompiler" | "createIntrospector">,
  execute: ExecuteQuery,
  runner?: PreparedRunner,
): Queries {
  const connection = { executeQuery: execute, streamQuery: refuse };
  const queries = new Kysely<Tables>({
    dialect: {
      ...engine,
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connection,
        beginTransaction: refuse,
        commitTransaction: refuse,
        rollbackTransaction: refuse,
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
    },
  });
  if (runner !== undefined) runners.set(queries, runner);
  return queries;
}

function refuse(): never {
  throw new Error("Only Database.write begins transactions, and nothing streams, because pages are small");
}

/** @returns undefined when the statement names no application, or binds a value that is not one of its parameters */
function lookupOf({ sql, parameters }: CompiledQuery, isCommon: boolean): Lookup | undefined {
  const names = parameters.flatMap((bound) => (bound instanceof Placeholder ? [bound.name] : []));
  const application = names.find((name) => /(^|\.)(applicationId|application_id)$/.test(name));
  if (names.length !== parameters.length || application === undefined) return undefined;
  // Lookups whose only value is the application are all equal.
  return { sql, names, application, isCommon: isCommon || names.length === 1 };
}

/** `$1, $2`, with numbers that follow `after`. */
export function placeholders(after: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `$${after + index + 1}`).join(", ");
}

/** @throws Error unless the statement is an addition */
function additionOf({ sql, parameters }: CompiledQuery, columns: readonly string[]): Addition {
  const columnCount = parameters.length;
  const row = `(${placeholders(0, columnCount)})`;
  const at = sql.indexOf(row);
  const [head, tail] = [sql.slice(0, at).trimEnd(), sql.slice(at + row.length)];
  const names = parameters.map((bound) => (bound instanceof Placeholder ? bound.name : undefined));
  const keys = columns.map((column) => ({ column, index: names.indexOf(column) }));
  if (at < 0 || !head.endsWith("values") || names.includes(undefined) || keys.some(({ index }) => index < 0)) {
    throw new Error(`no addition: ${sql}`);
  }
  return { head, tail, columnCount, keys };
}

function engineOf(queries: Queries): string {
  return queries.getExecutor().adapter.constructor.name;
}
