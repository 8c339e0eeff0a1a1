import { DatabaseSync } from "node:sqlite";
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { sqliteDialect } from "../db/dialect.ts";
import { commitBeforeBaseline, findOlderThanBaseline, migrations } from "../db/migrations/list.ts";
import { ArchiveError } from "./format.ts";

export type ColumnType = "text" | "integer" | "real" | "blob";

export interface Column {
  readonly type: ColumnType;
  readonly isNullable: boolean;
}

/** The columns of each table by exact name. */
export type ArchiveSchema = ReadonlyMap<string, ReadonlyMap<string, Column>>;

/** Cached by the number of migrations, because building one blocks a server for some milliseconds. */
const schemas = new Map<number, ArchiveSchema>();

const neverArchived: ReadonlySet<string> = new Set(["leases"]);

/**
 * Returns the schema that these migrations create, from an in-memory SQLite database, so that rows can be checked before
 * the target database exists, and in the same way for both engines.
 *
 * @throws ArchiveError unless the names are a prefix of this release's migrations
 */
export function schemaOf(names: readonly string[]): ArchiveSchema {
  if (findOlderThanBaseline(names) !== undefined) {
    throw new ArchiveError(
      `The archive was made by a version from before commit ${commitBeforeBaseline}. Restore it with the version of that commit, and continue with this one, or make another archive there`,
    );
  }
  const applied = migrations.slice(0, names.length);
  if (names.length === 0 || names.length !== applied.length || applied.some(({ name }, at) => name !== names[at])) {
    throw new ArchiveError("The archive was made by a newer release. Use that release to read it");
  }
  const known = schemas.get(names.length);
  if (known !== undefined) return known;
  const database = new DatabaseSync(":memory:");
  try {
    for (const { statements } of applied) {
      for (const statement of statements(sqliteDialect.ddl)) database.exec(statement.compile(compiler).sql);
    }
    const tables = database
      .prepare("select name from sqlite_schema where type = 'table'")
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !neverArchived.has(name));
    const schema = new Map(tables.map((table) => [table, columnsOf(table, database)]));
    schemas.set(names.length, schema);
    return schema;
  } finally {
    database.close();
  }
}

function columnsOf(table: string, database: DatabaseSync): ReadonlyMap<string, Column> {
  const columns = database.prepare('select name, type, "notnull" from pragma_table_info(?)').all(table);
  return new Map(
    columns.map(({ name, type, notnull }) => [
      String(name),
      { type: String(type).toLowerCase() as ColumnType, isNullable: notnull === 0 }, // strict tables have no other type
    ]),
  );
}

const compiler = new Kysely<never>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (queries) => new SqliteIntrospector(queries),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});
