import { type Compilable, CompiledQuery, type RawBuilder } from "kysely";
import type { Queries } from "./database.ts";

/** Stands for a value while a statement is built. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Prepares a statement for the hot path: built and compiled once per engine, then run with values alone. This saves
 * half the time of a point read.
 *
 * @param build builds the statement; `parameter("name")` stands for the value of that name
 */
export function prepare<Parameters extends object, Row>(
  build: (
    queries: Queries,
    parameter: <Name extends keyof Parameters & string>(name: Name) => Parameters[Name],
  ) => Compilable<Row>,
): (queries: Queries, parameters: Parameters) => Promise<Row[]> {
  const statements = new Map<string, CompiledQuery>();
  // `build` asks for the names in Parameters.
  return (queries, parameters) =>
    run<Row>(statements, "", queries, parameters, (name) => build(queries, name as never));
}

/** Enough for every shape that a search can have; the bound only guards against unforeseen shapes. */
const shapesMax = 5_000;

/**
 * Prepares statements whose shape depends on the request: each shape is built and compiled once.
 *
 * @returns runs the statement of a shape. Two calls with the same shape must build the same statement, except for the
 * values
 */
export function prepareShapes(): <Row>(
  queries: Queries,
  shape: string,
  parameters: Readonly<Record<string, unknown>>,
  build: (parameter: (name: string) => never) => Compilable<Row>,
) => Promise<Row[]> {
  const statements = new Map<string, CompiledQuery>();
  return (queries, shape, parameters, build) => {
    if (statements.size > shapesMax) statements.clear();
    return run(statements, shape, queries, parameters, build);
  };
}

/** Wraps a written-out statement for `prepare` and `prepareShapes`. */
export function compilable<Row>(statement: RawBuilder<Row>, queries: Queries): Compilable<Row> {
  return { compile: () => statement.compile(queries) };
}

async function run<Row>(
  statements: Map<string, CompiledQuery>,
  shape: string,
  queries: Queries,
  parameters: object,
  build: (parameter: (name: string) => never) => Compilable<Row>,
): Promise<Row[]> {
  const key = engineOf(queries) + shape;
  let compiled = statements.get(key);
  if (compiled === undefined) {
    // The builder treats the placeholder as a value and returns it in `parameters`.
    compiled = build((name) => new Placeholder(name) as never).compile();
    statements.set(key, compiled);
  }
  const values = compiled.parameters.map((bound) =>
    // An object of any interface can be read by name.
    bound instanceof Placeholder ? (parameters as Record<string, unknown>)[bound.name] : bound,
  );
  const direct = directRunners.get(queries);
  // `Row` is the type that the builder declares for the selected columns.
  if (direct !== undefined) return direct(compiled.sql, values) as Row[];
  return (await queries.executeQuery<Row>(CompiledQuery.raw(compiled.sql, values))).rows;
}

/** Runs a statement on a connection that is always available. */
export type DirectRunner = (sql: string, values: readonly unknown[]) => unknown[];

const directRunners = new WeakMap<Queries, DirectRunner>();

/** Makes prepared statements of these queries bypass Kysely's executor and use their only connection directly. */
export function runDirectly(queries: Queries, runner: DirectRunner): void {
  directRunners.set(queries, runner);
}

function engineOf(queries: Queries): string {
  return queries.getExecutor().adapter.constructor.name;
}
