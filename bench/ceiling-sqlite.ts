/**
 * The ceiling of durable writes on SQLite: `node:sqlite` with the server's settings inserts rows one by one, several
 * per transaction; each commit is on disk before the next begins. A worker.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { answerRequests, readSetting } from "../testkit/worker.ts";
import { createNewRows } from "./new-rows.ts";

const { file, table, concurrency } = readSetting<{ file: string; table: string; concurrency: number }>();

const database = new DatabaseSync(file);
database.exec(
  "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -16384",
);
const sample = database.prepare(`select * from ${table} order by application_id desc, id desc limit 1`).get();
const nextRow = createNewRows<SQLInputValue>(sample as Record<string, SQLInputValue> | undefined); // values that SQLite returns are valid inputs
const columns = Object.keys(sample ?? {});
const insert = database.prepare(`insert into ${table} values (${columns.map(() => "?").join()})`);
const begin = database.prepare("begin immediate");
const commit = database.prepare("commit");

answerRequests(async ({ seconds }: { seconds: number }) => {
  const startedAt = performance.now();
  let rows = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    begin.run();
    for (let index = 0; index < concurrency; index += 1) insert.run(...nextRow());
    commit.run();
    rows += concurrency;
  }
  return rows / ((performance.now() - startedAt) / 1000);
});
