import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Snapshot, StoredRow } from "./snapshot.ts";

const rowsAtOnce = 64;

/** A read transaction. Others write meanwhile; the log of what they write grows until it ends. */
export function openSqliteSnapshot(url: string): Snapshot {
  const database = new DatabaseSync(fileURLToPath(url), { readOnly: true, timeout: 5_000 });
  try {
    database.exec("pragma cache_size = -4096");
    database.exec("begin");
    const names = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map(({ name }) => String(name));
    const tables = names(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
    ); // with this it has begun
    const migrations = names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      rows: (table, having = {}) => readRows(database, table, having),
      async close() {
        if (database.isOpen) database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

async function* readRows(database: DatabaseSync, table: string, having: StoredRow): AsyncGenerator<StoredRow> {
  const conditions = Object.keys(having).map((column) => ` and ${quoted(column)} = ?`);
  const statement = database.prepare(`select * from ${quoted(table)} where true${conditions.join("")}`);
  let count = 0;
  for (const row of statement.iterate(...Object.values(having))) {
    yield row as StoredRow; // no column of ours holds a bigint: reading one that is too large throws
    count += 1;
    if (count % rowsAtOnce === 0) await setImmediate(); // in a server others have their turn
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
