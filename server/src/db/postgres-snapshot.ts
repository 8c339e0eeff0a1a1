import postgres from "postgres";
import type { Snapshot, StoredRow } from "./snapshot.ts";

const rowsAtOnce = 64;

/** A transaction that reads what was committed when it began, over a connection of its own. */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = postgres(url, {
    max: 1,
    connect_timeout: 10,
    connection: { application_name: "rollcall archive" },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } }, // as in `postgres.ts`
    onnotice: () => {},
  });
  try {
    const connection = await client.reserve();
    const names = async (sql: string) => (await connection.unsafe<{ name: string }[]>(sql)).map(({ name }) => name);
    await connection.unsafe("begin isolation level repeatable read, read only");
    await connection.unsafe("set local statement_timeout = 0"); // of a large table the time it takes
    const tables = await names(
      "select tablename::text as name from pg_tables where schemaname = current_schema() order by tablename",
    ); // with this it has begun
    const migrations = await names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      async *rows(table, having = {}) {
        const conditions = Object.keys(having).map((column, index) => ` and ${quoted(column)} = $${index + 1}`);
        const query = connection.unsafe<(StoredRow & postgres.Row)[]>(
          `select * from ${quoted(table)} where true${conditions.join("")}`,
          Object.values(having) as postgres.ParameterOrJSON<never>[], // no column is of any other type
        );
        for await (const rows of query.cursor(rowsAtOnce)) yield* rows;
      },
      async close() {
        connection.release();
        await client.end({ timeout: 5 });
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
