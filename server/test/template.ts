import { migrate } from "../src/db/migrate.ts";
import { openDatabase } from "../src/db/open.ts";
import { createTestDatabase, type TestDatabase } from "./databases.ts";

/**
 * Migrates one database as a template for the tests, because the migrations take longer than many a test file.
 *
 * @param folder for an embedded database
 * @param server the URL of a PostgreSQL server; undefined for SQLite
 * @returns the database whose URL tests read from TEST_DATABASE_TEMPLATE
 */
export async function createTemplate(folder: string, server: string | undefined): Promise<TestDatabase> {
  const template = await createTestDatabase(folder, server);
  const database = await openDatabase(template.url, { connectionsMax: 2, timeoutMs: 60_000 });
  await migrate(database);
  await database.close();
  return template;
}
