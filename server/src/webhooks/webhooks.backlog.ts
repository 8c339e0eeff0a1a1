import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { WebhookRow } from "../db/tables.ts";
import { sumOpenDeliveries } from "./webhooks.deliveries.store.ts";
import { typesOf } from "./webhooks.fields.ts";
import type { Backlog } from "./webhooks.operator.contract.ts";

/** The maximum of the counts. */
const countMax = 10_000;

/** Counts a webhook's events that wait behind its cursor, and those that wait for another attempt. */
export async function findBacklog(row: WebhookRow, queries: Queries): Promise<Backlog> {
  const { application_id, id, position } = row;
  const types = [...typesOf(row.types).keys()];
  const ofTypes = sql`application_id = ${application_id} and type in (${sql.join(types)})`;
  // On PostgreSQL an event has no position until a reader asks for one.
  const { rows } = await sql<{ count: number; oldest_at: number | null }>`
    select count(*) as count, min(at) as oldest_at from (
      select at from (select at from events where ${ofTypes} and position > ${position} limit ${countMax}) as placed
      union all
      select at from (select at from events where ${ofTypes} and position is null limit ${countMax}) as unplaced
    ) as behind`.execute(queries);
  const [behind] = rows;
  const open = await sumOpenDeliveries(application_id, id, countMax, queries);
  const since = [behind?.oldest_at, open.oldestAt].filter((at) => typeof at === "number");
  return {
    events: Math.min(countMax, Number(behind?.count ?? 0) + open.count),
    since: since.length === 0 ? undefined : Math.min(...since.map(Number)),
  };
}
