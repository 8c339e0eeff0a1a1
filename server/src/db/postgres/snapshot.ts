import { PlainFailure } from "../../config/failure.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { Snapshot, StoredRow } from "../snapshot.ts";
import { deploymentTables, tablesInErasureOrder } from "../table-catalogue.ts";
import { liftBounds } from "./connection-settings.ts";
import { PostgresSession } from "./session.ts";

const connectMsMax = 10_000;
const rowsPerChunk = 64;
/** Each attempt fails if a migration has dropped a table since. */
const beginTriesMax = 10;

/** Overrides limits of the server or role, because reading a large table takes long. */
const withoutBounds = liftBounds("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout");

/**
 * Opens a read-only transaction that sees everything committed before it began, on a separate connection. It locks the
 * tables, as pg_dump does: a concurrent migration would make it read rows of a later schema, or no rows of a rewritten
 * table.
 */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  // Sets no limits of the session, which a pooler would refuse.
  const settings = { timeoutMs: connectMsMax, isPooled: true, applicationName: "rollcall archive" };
  const session = new PostgresSession(url, settings);
  async function run<Row extends object>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    try {
      const rows: Iterable<object> = await session.run(text, values, { isUnbounded: true });
      return rows as Row[]; // the caller knows the columns of its statement
    } catch (error) {
      throw session.isConnected && session.isBroken
        ? new PlainFailure("The connection to the database was cut.")
        : error;
    }
  }
  try {
    const names = async (text: string) => (await run<{ name: string }>(text)).map(({ name }) => name);
    let cursors = 0;

    /** @returns the visible tables; undefined if a migration has changed them */
    async function begin(): Promise<string[] | undefined> {
      const there = await names(listTables);
      await run("begin isolation level repeatable read, read only");
      await run(withoutBounds);
      const held = there.filter((name) => ours.has(name)).map(quoted);
      try {
        // Locks before the first read, so that the snapshot is later than any migration that it waited for.
        if (held.length > 0) await run(`lock table ${held.join(", ")} in access share mode`);
      } catch (error) {
        if (fieldsOf(error).code !== undefinedTable) throw error;
        await run("rollback");
        return undefined;
      }
      const tables = await names(listTables); // the first read fixes the snapshot
      if (tables.join() === there.join()) return tables;
      await run("rollback");
      return undefined;
    }

    let tables: string[] | undefined;
    for (let tries = 1; tables === undefined; tries += 1) {
      if (tries > beginTriesMax)
        throw new PlainFailure("The schema of the database keeps changing. Try again when no migration is running.");
      tables = await begin();
    }
    if (!tables.includes("schema_migrations")) throw new PlainFailure("The database is not a Rollcall database.");
    const migrations = await names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      // Fetches by statements, because a cursor of the driver returns no error when the connection breaks.
      async *rows(table, having = {}) {
        cursors += 1;
        const cursor = `rows_${cursors}`;
        const conditions = Object.keys(having).map((column, index) => ` and ${quoted(column)} = $${index + 1}`);
        const query = `select * from ${quoted(table)} where true${conditions.join("")}`;
        await run(`declare ${cursor} no scroll cursor for ${query}`, Object.values(having));
        for (;;) {
          const rows = await run<StoredRow>(`fetch ${rowsPerChunk} from ${cursor}`);
          yield* rows;
          if (rows.length < rowsPerChunk) break;
        }
        await run(`close ${cursor}`); // the transaction closes a partly read cursor
      },
      async estimateRows(table, having = {}) {
        if (Object.keys(having).length > 0) return undefined;
        const [found] = await run<{ rows: number }>(
          "select reltuples::bigint as rows from pg_class where oid = to_regclass($1)",
          [quoted(table)],
        );
        return found === undefined || found.rows < 0 ? undefined : found.rows; // -1: never analyzed
      },
      // Resolves when the server has closed the session: a restore is refused while it sees one.
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

const ours: ReadonlySet<string> = new Set([
  ...tablesInErasureOrder,
  ...deploymentTables,
  "applications",
  "schema_migrations",
]);
const undefinedTable = "42P01";
const listTables =
  "select tablename::text as name from pg_tables where schemaname = current_schema() order by tablename";

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
