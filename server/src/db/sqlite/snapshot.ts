import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PlainFailure } from "../../config/failure.ts";
import type { Snapshot, StoredRow } from "../snapshot.ts";

const rowsPerChunk = 64;
/** SQLite has no statistics and counting blocks, so rows of a larger database are not counted. */
const countedBytesMax = 4_294_967_296;

/** Opens a read transaction. Writers continue, and the write-ahead log grows until the snapshot is closed. */
export function openSqliteSnapshot(url: string): Snapshot {
  const file = fileURLToPath(url);
  if (!existsSync(file)) throw new PlainFailure(`There is no database ${file}.`);
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
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
    ); // the first read fixes the snapshot
    if (!tables.includes("schema_migrations")) throw new PlainFailure(`${file} is not a Rollcall database.`);
    const migrations = names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      rows: (table, having = {}) => readRows(database, table, having),
      estimateRows: async (table, having = {}) =>
        databaseBytes(database) > countedBytesMax ? undefined : countRows(database, table, having),
      async close() {
        if (database.isOpen) database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function databaseBytes(database: DatabaseSync): number {
  const [{ bytes = 0 } = {}] = database
    .prepare("select page_count * page_size as bytes from pragma_page_count, pragma_page_size")
    .all();
  return Number(bytes);
}

/** Counts over the smallest index of the table, which is much cheaper than reading its rows. */
function countRows(database: DatabaseSync, table: string, having: StoredRow): number {
  const [{ count = 0 } = {}] = database
    .prepare(`select count(*) as count from ${quoted(table)}${conditionsOf(having)}`)
    .all(...Object.values(having));
  return Number(count);
}

function conditionsOf(having: StoredRow): string {
  const conditions = Object.keys(having).map((column) => ` and ${quoted(column)} = ?`);
  return ` where true${conditions.join("")}`;
}

async function* readRows(database: DatabaseSync, table: string, having: StoredRow): AsyncGenerator<StoredRow> {
  const statement = database.prepare(`select * from ${quoted(table)}${conditionsOf(having)}`);
  let count = 0;
  for (const row of statement.iterate(...Object.values(having))) {
    yield row as StoredRow; // no column holds a bigint: reading a too large integer throws
    count += 1;
    if (count % rowsPerChunk === 0) await setImmediate(); // yields to the requests of a server
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
