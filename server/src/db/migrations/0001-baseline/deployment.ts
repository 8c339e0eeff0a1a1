import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Processes of the deployment: their reports, shared work, and the nonces of calls between regions. */
export const deployment: Migration["statements"] = ({ text, integer, tableOptions }) => [
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

  sql`
    create table leases (
      name ${text} not null,
      holder ${text} not null,
      ends_at ${integer} not null,
      primary key (name)
    ) ${tableOptions}`,

  sql`
    create table region_nonces (
      nonce ${text} not null,
      ends_at ${integer} not null,
      primary key (nonce)
    ) ${tableOptions}`,
  sql`create index region_nonces_end on region_nonces (ends_at)`,
];
