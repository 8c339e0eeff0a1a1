import postgres from "postgres";
import { PlainFailure } from "../failure.ts";
import { liftBounds } from "./postgres-bounds.ts";
import type { Snapshot, StoredRow } from "./snapshot.ts";
import { deploymentTables, tablesInErasureOrder } from "./tables.ts";

const rowsAtOnce = 64;
/** Each time a migration has taken a table away in the meantime. */
const beginTriesMax = 10;

/** Whatever a server or a role is told elsewhere: a large table takes the time it takes, and so does who reads it. */
const withoutBounds = liftBounds("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout");

/**
 * A transaction that reads what was committed when it began, over a connection of its own. Until it ends it holds our tables,
 * as pg_dump does: beside a migration it would read rows of a later schema, or none of a table that is written anew.
 */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  let isCut = false;
  /** Of the statement that is under way: the library leaves some without an answer. */
  let fail: (error: Error) => void = () => {};
  const client = postgres(url, {
    max: 1,
    connect_timeout: 10,
    max_lifetime: null,
    connection: { application_name: "rollcall archive" },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } }, // as in `postgres.ts`
    onnotice: () => {},
    onclose: () => {
      isCut = true;
      fail(new ConnectionCut());
    },
  });
  try {
    const connection = await client.reserve();
    const run = <Row extends object>(text: string, values: readonly StoredRow[string][] = []) =>
      new Promise<readonly Row[]>((resolve, reject) => {
        if (isCut) throw new ConnectionCut(); // what is written to it would end the process
        fail = reject;
        const parameters = values as postgres.ParameterOrJSON<never>[]; // no column is of any other type
        connection.unsafe<Row[]>(text, parameters).then(resolve, reject);
      });
    const names = async (text: string) => (await run<{ name: string }>(text)).map(({ name }) => name);
    let cursors = 0;

    /** @returns the tables that it sees; undefined when they have changed meanwhile */
    async function begin(): Promise<string[] | undefined> {
      const there = await names(listTables);
      await run("begin isolation level repeatable read, read only");
      await run(withoutBounds);
      const held = there.filter((name) => ours.has(name)).map(quoted);
      try {
        // Before anything is read: what is seen is then later than any migration that this has waited for.
        if (held.length > 0) await run(`lock table ${held.join(", ")} in access share mode`);
      } catch (error) {
        if ((error as { code?: unknown }).code !== undefinedTable) throw error;
        await run("rollback");
        return undefined;
      }
      const tables = await names(listTables); // with this it has begun
      if (tables.join() === there.join()) return tables;
      await run("rollback");
      return undefined;
    }

    let tables: string[] | undefined;
    for (let tries = 1; tables === undefined; tries += 1) {
      if (tries > beginTriesMax) throw new PlainFailure("The schema of the database does not stay as it is.");
      tables = await begin();
    }
    if (!tables.includes("schema_migrations")) throw new PlainFailure("There is nothing of Rollcall in the database.");
    const migrations = await names("select name from schema_migrations order by name");
    return {
      tables,
      migrations,
      // By statements: a cursor of the library ends as if there were no more rows when the connection does.
      async *rows(table, having = {}) {
        cursors += 1;
        const cursor = `rows_${cursors}`;
        const conditions = Object.keys(having).map((column, index) => ` and ${quoted(column)} = $${index + 1}`);
        const query = `select * from ${quoted(table)} where true${conditions.join("")}`;
        await run(`declare ${cursor} no scroll cursor for ${query}`, Object.values(having));
        for (;;) {
          const rows = await run<StoredRow>(`fetch ${rowsAtOnce} from ${cursor}`);
          yield* rows;
          if (rows.length < rowsAtOnce) break;
        }
        await run(`close ${cursor}`); // of one that was not read to its end the transaction takes care
      },
      async close() {
        if (!isCut) connection.release();
        await client.end({ timeout: isCut ? 0 : 5 }); // the library waits for what is never answered
      },
    };
  } catch (error) {
    await client.end({ timeout: 5 });
    throw error;
  }
}

class ConnectionCut extends PlainFailure {
  constructor() {
    super("The connection to the database was cut.");
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
