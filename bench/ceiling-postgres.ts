/**
 * The ceiling of durable writes on PostgreSQL: concurrent inserts, each its own transaction, through the server's
 * client library with the server's number of connections. A worker.
 */
import postgres from "postgres";
import { loadConfig } from "../server/src/config/config.ts";
import { answerRequests, readSetting } from "../testkit/worker.ts";
import { createNewRows } from "./new-rows.ts";

type Value = string | number | null;

const { url, table, concurrency } = readSetting<{ url: string; table: string; concurrency: number }>();

const sql = postgres(url, { max: loadConfig({}).databaseConnectionsMax });
const [sample] = await sql<Record<string, Value>[]>`
  select * from ${sql(table)} order by application_id desc, id desc limit 1`;
const nextRow = createNewRows<Value>(sample);
const places = Object.keys(sample ?? {}).map((_, index) => `$${index + 1}`);
const statement = `insert into ${table} values (${places.join()})`;

answerRequests(async ({ seconds }: { seconds: number }) => {
  const startedAt = performance.now();
  let rows = 0;
  async function insertUntilEnd(): Promise<void> {
    while (performance.now() - startedAt < seconds * 1000) {
      await sql.unsafe(statement, nextRow(), { prepare: true });
      rows += 1;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, insertUntilEnd));
  return rows / ((performance.now() - startedAt) / 1000);
});
