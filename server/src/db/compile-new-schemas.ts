import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { postgresDialect, sqliteDialect } from "./dialect.ts";
import { migrations } from "./migrations/list.ts";
import { scriptOfNewSchema } from "./new-schema.ts";
import type { newSchemaScripts } from "./new-schema-scripts.ts";
import type { Tables } from "./tables.ts";

/** The scripts that the bundler writes, once for all starts. */
export function compileNewSchemas(): typeof newSchemaScripts {
  // Both engines quote names alike, and the statements of migrations have no values.
  const queries = new Kysely<Tables>({
    dialect: {
      createDriver: () => new DummyDriver(),
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  return {
    sqlite: scriptOfNewSchema(migrations, sqliteDialect, queries),
    postgres: scriptOfNewSchema(migrations, postgresDialect, queries),
  };
}
