import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import type { WebhookRow, WebhookState } from "../db/tables.ts";
import { rowsPerRead } from "../event-log/log-rows.store.ts";
import { sumWaiting } from "./webhooks.deliveries.store.ts";
import { typesOf } from "./webhooks.log.ts";
import type { Backlog } from "./webhooks.operator.contract.ts";
import { listWatched } from "./webhooks.store.ts";

/**
 * Counts a webhook's events behind its cursor, and those that wait for another attempt. The log has no index by type,
 * so only its next 10,000 events are examined.
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
  const waiting = await sumWaiting({ applicationId: application_id, id }, rowsPerRead, queries);
  const since = [behind?.oldest_at, waiting.oldestAt].filter((at) => typeof at === "number");
  const events = Number(behind?.count ?? 0) + waiting.count;
  return {
    events: Math.min(rowsPerRead, events),
    isAtLeast: Number(behind?.examined ?? 0) >= rowsPerRead || events > rowsPerRead,
    since: since.length === 0 ? undefined : Math.min(...since.map(Number)),
  };
}

/** The state of a deployment's webhooks at the latest query. */
export interface WebhookStatistics {
  readonly states: ReadonlyMap<WebhookState, number>;
  /** Webhooks with waiting events, and the time at which the oldest was written. */
  readonly behind: readonly {
    readonly applicationId: string;
    readonly id: string;
    readonly events: number;
    readonly since: number;
  }[];
}

/** The number of webhooks whose waiting events are counted, starting with those that do not receive events. */
const countedMax = 1_000;

export async function findStatistics({ reads }: Pick<Database, "reads">): Promise<WebhookStatistics> {
  const { states, rows } = await listWatched(countedMax, reads);
  const behind: WebhookStatistics["behind"][number][] = [];
  for (const row of rows) {
    const { events, since } = await findBacklog(row, reads);
    if (since !== undefined) behind.push({ applicationId: row.application_id, id: row.id, events, since });
  }
  return { states, behind };
}
