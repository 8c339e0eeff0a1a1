import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { unboundedStatement } from "../db/dialect.ts";
import type { StoredRow } from "../db/snapshot.ts";
import { newLogName } from "./heads.store.ts";

/** Above all numbers that an engine has drawn, so that events without a position follow all others. */
const unplacedFrom = 2 ** 41;

/**
 * Changes rows of a backup so that restored logs have other names: earlier cursors are reset, because the database
 * lacks the writes after the backup. Webhooks continue at their positions, under the new name. Every number becomes the
 * position, as on an engine whose numbers are positions.
 */
export function createLogRenaming(): (table: string, row: StoredRow) => StoredRow {
  const names = new Map<unknown, string>();
  return (table, row) => {
    if (table === "event_logs") {
      const name = newLogName();
      names.set(nameOf(row["application_id"], row["name"]), name);
      return { ...row, name };
    }
    if (table === "webhooks") {
      const log = names.get(nameOf(row["application_id"], row["log"]));
      return log === undefined ? row : { ...row, log };
    }
    if (table !== "events") return row;
    return { ...row, number: row["position"] ?? unplacedFrom + Number(row["number"]) };
  };
}

function nameOf(applicationId: unknown, log: unknown): string {
  return `${applicationId} ${log}`;
}

/** Assigns positions to restored events without one, and lets the positions of new events follow. */
export async function finishRestoredLogs({ dialect }: Pick<Database, "dialect">, queries: Queries): Promise<void> {
  if (dialect.hasRowLocks) await sql.raw(unboundedStatement).execute(queries);
  const { rows } = await sql<{ application_id: string }>`
    select distinct application_id from events where position is null`.execute(queries);
  for (const { application_id } of rows) await placeEvents(application_id, queries);
  await dialect.continueSerial?.("events", "number").execute(queries);
}

async function placeEvents(applicationId: string, queries: Queries): Promise<void> {
  const { rows } = await sql<{ end: number }>`
    select coalesce(
      (select max(position) from events where application_id = ${applicationId}),
      (select dropped_to from event_logs where application_id = ${applicationId}), 0) as "end"`.execute(queries);
  await sql`
    update events set position = placed.position, number = placed.position
    from (
      select number, ${Number(rows[0]?.end ?? 0)} + row_number() over (order by number) as position
      from events where application_id = ${applicationId} and position is null
    ) as placed
    where events.application_id = ${applicationId} and events.number = placed.number`.execute(queries);
}
