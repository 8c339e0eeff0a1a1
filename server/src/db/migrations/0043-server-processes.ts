import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The last report of each process (`deployment/process-report.ts`). */
export const serverProcesses: Migration = {
  name: "0043-server-processes",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table server_processes (
        id ${text} not null primary key,
        machine ${text} not null,
        worker ${integer} not null,
        version ${text} not null,
        started_at ${integer} not null,
        heard_at ${integer} not null,
        report ${text} not null
      ) ${tableOptions}`,
    sql`create index server_processes_heard on server_processes (heard_at)`,
  ],
};
