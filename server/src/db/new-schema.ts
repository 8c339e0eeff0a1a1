import { type RawBuilder, sql } from "kysely";
import type { Queries } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import type { Migration } from "./migrations/migration.ts";

/** Begins the text of several statements that are run together. */
const scriptMark = "-- script\n";

/**
 * Creates the schema of these migrations in an empty database, in one script: on SQLite each `add column` would read the whole
 * schema again, and on PostgreSQL each statement is a round trip. The tables have the columns of later migrations from the
 * start, and what later ones drop is not created. `fill` of the migrations is left out, because there are no rows.
 */
export async function createNewSchema(list: readonly Migration[], dialect: Dialect, queries: Queries): Promise<void> {
  await sql.raw(scriptOfNewSchema(list, dialect, queries)).execute(queries);
}

function scriptOfNewSchema(list: readonly Migration[], { ddl }: Dialect, queries: Queries): string {
  const statements = list.flatMap((migration) => migration.statements(ddl)).map((each) => textOf(each, queries));
  return scriptMark + withoutCopiedRows(withoutDropped(mergeAddedColumns(statements))).join(";\n");
}

/** Whether the text is that of several statements, of which a driver may otherwise run only the first. */
export function isScript(text: string): boolean {
  return text.startsWith(scriptMark);
}

function textOf(statement: RawBuilder<unknown>, queries: Queries): string {
  const { sql: text, parameters } = statement.compile(queries);
  if (parameters.length > 0) throw new Error(`A migration has a value that is not part of its text: ${text}`);
  return text.trim();
}

/** Moves the columns of `alter table … add column …` into the `create table` before it. */
export function mergeAddedColumns(statements: readonly string[]): string[] {
  const merged: string[] = [];
  const creations = new Map<string, number>();
  for (const statement of statements) {
    const [, created] = /^create table "?(\w+)"? \(/.exec(statement) ?? [];
    if (created !== undefined) creations.set(created, merged.length);
    const [, altered = "", column] = /^alter table "?(\w+)"? add column (.+)$/s.exec(statement) ?? [];
    const creation = creations.get(altered);
    if (column === undefined || creation === undefined) merged.push(statement);
    else merged[creation] = addColumn(merged[creation] ?? "", column);
  }
  return merged;
}

/** Leaves out tables and indexes that a later statement drops, with all that belongs to them. */
export function withoutDropped(statements: readonly string[]): string[] {
  let kept: string[] = [];
  for (const statement of statements) {
    const [, kind, name] = /^drop (table|index) "?(\w+)"?$/.exec(statement) ?? [];
    const needed = name === undefined ? kept : kept.filter((earlier) => !belongsTo(earlier, kind, name));
    kept = needed.length < kept.length ? needed : [...kept, statement];
  }
  return kept;
}

function belongsTo(statement: string, kind: string | undefined, name: string): boolean {
  const [, index, indexed] =
    /^create (?:unique )?index (?:if not exists )?"?(\w+)"? on "?(\w+)"? /.exec(statement) ?? [];
  if (kind === "index") return index === name;
  const [, table = indexed] = /^(?:create|alter) table "?(\w+)"? /.exec(statement) ?? [];
  return table === name;
}

/** Leaves out the copies of rows from one table to another: a new database has none. */
function withoutCopiedRows(statements: readonly string[]): string[] {
  return statements.filter((statement) => !/^insert into \w+ \([^)]*\)\s+select /.test(statement));
}

/** SQLite demands that the columns precede the constraints of the table. */
function addColumn(creation: string, column: string): string {
  const definitions = definitionsOf(creation);
  const constraint = definitions.find(({ text }) =>
    /^\s*(primary key|foreign key|unique|check|constraint)\b/.test(text),
  );
  if (constraint !== undefined) return insertAt(creation, constraint.start, ` ${column},`);
  return insertAt(creation, definitions.at(-1)?.end ?? 0, `, ${column}`);
}

/** The columns and constraints of a table, and where they are in the text. */
function definitionsOf(creation: string): { readonly text: string; readonly start: number; readonly end: number }[] {
  const definitions = [];
  let depth = 0;
  let start = 0;
  // A text in quotes is one token.
  for (const { 0: token, index } of creation.matchAll(/'[^']*'|[(),]/g)) {
    if (token === "(") depth += 1;
    if (token === "(" && depth === 1) start = index + 1;
    const isEnd = depth === 1 && (token === "," || token === ")");
    if (isEnd) definitions.push({ text: creation.slice(start, index), start, end: index });
    if (isEnd) start = index + 1;
    if (token === ")") depth -= 1;
  }
  return definitions;
}

function insertAt(text: string, index: number, inserted: string): string {
  return text.slice(0, index) + inserted + text.slice(index);
}
