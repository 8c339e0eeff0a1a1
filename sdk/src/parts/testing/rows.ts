import { ConfigurationError } from "../../wire/errors.ts";

export type Row = Readonly<Record<string, unknown>>;

/**
 * Reads all rows of a table of a server's SQLite file, while the server runs.
 *
 * @throws ConfigurationError where the runtime has no `node:sqlite`
 */
export async function readRows(file: string, table: string): Promise<Row[]> {
  const { DatabaseSync } = await import("node:sqlite").catch((cause) => {
    throw new ConfigurationError("rows: this needs node:sqlite, of Node.js 22.13 or later.", { cause });
  });
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(`select * from "${table.replaceAll('"', '""')}"`).all();
  } finally {
    database.close();
  }
}
