import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { WebhookRow } from "../db/tables.ts";
import { rowsPerRead } from "../event-log/read-limits.ts";
import { sumOpenDeliveries } from "./webhooks.deliveries.store.ts";
import { typesOf } from "./webhooks.fields.ts";
import type { Backlog } from "./webhooks.operator.contract.ts";

/**
 * Counts a webhook's events that wait behind its cursor, and those that wait for another attempt. The log has no index
 * of types, so that only its next 10,000 events are examined.
 */
export async function findBacklog(row: WebhookRow, queries: Queries): Promise<Backlog> {
  const { application_id, id, position } = row;
  const isOfTypes = sql`type in (${sql.join([...typesOf(row.types).keys()])})`;
  const ofLog = sql`select type, at from events where application_id = ${application_id}`;
  // On PostgreSQL an event gets its position soon after its commit.
  const { rows } = await sql<{ examined: number; count: number; oldest_at: number | null }>`
    select count(*) as examined, count(case when ${isOfTypes} then 1 end) as count,
      min(case when ${isOfTypes} then at end) as oldest_at
    from (
      select type, at from (${ofLog} and position > ${position} order by position limit ${rowsPerRead}) as placed
      union all
      select type, at from (${ofLog} and position is null order by number limit ${rowsPerRead}) as unplaced
    ) as behind`.execute(queries);
  const [behind] = rows;
  const open = await sumOpenDeliveries(application_id, id, rowsPerRead, queries);
  const since = [behind?.oldest_at, open.oldestAt].filter((at) => typeof at === "number");
  const events = Number(behind?.count ?? 0) + open.count;
  return {
    events: Math.min(rowsPerRead, events),
    isAtLeast: Number(behind?.examined ?? 0) >= rowsPerRead || events > rowsPerRead,
    since: since.length === 0 ? undefined : Math.min(...since.map(Number)),
  };
}
