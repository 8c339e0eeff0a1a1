import postgres from "postgres";
import { PlainFailure } from "../failure.ts";
import type { Snapshot, StoredRow } from "./snapshot.ts";

const rowsAtOnce = 64;

/** Whatever a server or a role is told elsewhere: a large table takes the time it takes, and so does who reads it. */
const withoutBounds = `select set_config(name, '0', true) from pg_settings
  where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`;

/** A transaction that reads what was committed when it began, over a connection of its own. */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  let isBroken = false;
  const client = postgres(url, {
    max: 1,
    connect_timeout: 10,
    connection: { application_name: "rollcall archive" },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } }, // as in `postgres.ts`
    onnotice: () => {},
    onclose: () => {
      isBroken = true;
    },
  });
  /** The library would write to a connection that is not there any more, or end a table where it broke. */
  function requireConnection(): void {
    if (isBroken) throw new PlainFailure("The connection to the database broke while it was read.");
  }
  try {
    const connection = await client.reserve();
    const names = async (sql: string) => (await connection.unsafe<{ name: string }[]>(sql)).map(({ name }) => name);
    await connection.unsafe("begin isolation level repeatable read, read only");
    await connection.unsafe(withoutBounds);
    const tables = await names(
      "select tablename::text as name from pg_tables where schemaname = current_schema() order by tablename",
    ); // with this it has begun
    if (!tables.includes("schema_migrations")) throw new PlainFailure("There is nothing of Rollcall in the database.");
    const migrations = await names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      async *rows(table, having = {}) {
        requireConnection();
        const conditions = Object.keys(having).map((column, index) => ` and ${quoted(column)} = $${index + 1}`);
        const query = connection.unsafe<(StoredRow & postgres.Row)[]>(
          `select * from ${quoted(table)} where true${conditions.join("")}`,
          Object.values(having) as postgres.ParameterOrJSON<never>[], // no column is of any other type
        );
        for await (const rows of query.cursor(rowsAtOnce)) yield* rows;
        requireConnection();
      },
      async close() {
        if (!isBroken) connection.release();
        await client.end({ timeout: isBroken ? 0 : 5 });
      },
    };
  } catch (error) {
    await client.end({ timeout: 5 });
    throw error;
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
