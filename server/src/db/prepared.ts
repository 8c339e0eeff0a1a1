import { type Compilable, CompiledQuery } from "kysely";
import type { Queries } from "./database.ts";

/** Stands for a value while a statement is built. */
class Placeholder {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A statement for the hot path: built and compiled once per engine, then run with values alone. Saves the half of a
 * point read that would go into building the same text again.
 *
 * @param build builds the statement; `parameter("name")` stands where the value of that name goes
 */
export function prepare<Parameters extends object, Row>(
  build: (
    queries: Queries,
    parameter: <Name extends keyof Parameters & string>(name: Name) => Parameters[Name],
  ) => Compilable<Row>,
): (queries: Queries, parameters: Parameters) => Promise<Row[]> {
  const statements = new Map<string, CompiledQuery>();
  return (queries, parameters) =>
    run<Row>(statements, "", queries, parameters, (name) => build(queries, name as never));
}

/** Enough for every shape that a search can have; the bound only stops what nobody foresaw. */
const shapesMax = 5_000;

/**
 * Statements that are put together from what a request asks for: each shape is built and compiled once.
 *
 * @returns runs the statement of a shape. Two calls of one shape must build the same statement, but for the values
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
    // A placeholder travels through the builder as if it were the value, and comes back in `parameters`.
    compiled = build((name) => new Placeholder(name) as never).compile();
    statements.set(key, compiled);
  }
  const values = compiled.parameters.map((place) =>
    place instanceof Placeholder ? (parameters as Record<string, unknown>)[place.name] : place,
  );
  const direct = directRunners.get(queries);
  // Row is what the builder promised, and the columns of the statement are what it selected.
  if (direct !== undefined) return direct(compiled.sql, values) as Row[];
  return (await queries.executeQuery<Row>(CompiledQuery.raw(compiled.sql, values))).rows;
}

/** Runs a statement on a connection that is always at hand. */
export type DirectRunner = (sql: string, values: readonly unknown[]) => unknown[];

const directRunners = new WeakMap<Queries, DirectRunner>();

/** Lets prepared statements of these queries go straight to their one connection, past the builder's executor. */
export function runDirectly(queries: Queries, runner: DirectRunner): void {
  directRunners.set(queries, runner);
}

function engineOf(queries: Queries): string {
  return queries.getExecutor().adapter.constructor.name;
}
