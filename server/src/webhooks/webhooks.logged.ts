import type { Database, Queries } from "../db/database.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import { findHead } from "../event-log/log-heads.ts";
import { findLogEnd, listEvents, type PlacedEvent } from "../event-log/log-rows.store.ts";
import { isRevocation } from "../event-log/revocations.ts";
import type { DateRange } from "../lib/dates.ts";
import { listOpenEvents } from "./webhooks.deliveries.store.ts";
import { typesOf } from "./webhooks.fields.ts";

/** The maximum number of events per call; the next call continues. */
export const acceptedMax = 10_000;
const rowsPerRead = 1_000;
const rowsExaminedMax = 100_000;
/**
 * How much later than its neighbours an event may have been written: its transaction may have waited, or its clock
 * differ.
 */
const slackMs = 600_000;

export interface LoggedFilters {
  readonly created: DateRange;
  readonly type?: string | undefined;
  /** Selects events after this position. */
  readonly after?: number | undefined;
}

export interface LoggedEvents {
  readonly log: string;
  readonly events: readonly PlacedEvent[];
  /** The position after which the next call continues; undefined at the end of the range. */
  readonly next: number | undefined;
}

/**
 * Finds logged events by the time of their write: events of the webhook's types that its position has passed and that
 * no waiting delivery covers. They may have been delivered already.
 */
export async function findLogged(
  row: WebhookRow,
  { created: { start = Number.NEGATIVE_INFINITY, end = Number.POSITIVE_INFINITY }, type, after }: LoggedFilters,
  { reads }: Pick<Database, "reads">,
): Promise<LoggedEvents> {
  const { application_id: applicationId } = row;
  const [log] = await findHead(reads, { applicationId });
  if (log === undefined) return { log: "", events: [], next: undefined };
  const { position: logEnd } = await findLogEnd(applicationId, reads);
  const to = row.log === log.name ? Math.min(row.position, logEnd) : logEnd;
  const open = new Set(await listOpenEvents(applicationId, row.id, reads));
  const types = typesOf(row.types);
  const isWanted = (event: PlacedEvent) =>
    !isRevocation(event) &&
    !(event.object_id === row.id && event.type.startsWith("webhook.")) &&
    types.has(event.type) &&
    (type === undefined || event.type === type) &&
    event.at >= start &&
    event.at <= end &&
    !open.has(event.id);
  const events: PlacedEvent[] = [];
  let position = after ?? (await findPositionBefore(applicationId, start - slackMs, to, reads));
  for (let examined = 0; position < to; examined += rowsPerRead) {
    if (examined >= rowsExaminedMax || events.length >= acceptedMax) return { log: log.name, events, next: position };
    const found = await listEvents(applicationId, position, rowsPerRead, reads);
    for (const event of found) {
      if (event.position > to || event.at > end + slackMs) return { log: log.name, events, next: undefined };
      if (events.length >= acceptedMax) break;
      if (isWanted(event)) events.push(event);
      position = event.position;
    }
    if (found.length < rowsPerRead) break;
  }
  return { log: log.name, events, next: undefined };
}

/** Returns a position before all logged events since `at`, by a binary search: the log is almost sorted by time. */
async function findPositionBefore(applicationId: string, at: number, end: number, queries: Queries): Promise<number> {
  const [oldest] = await listEvents(applicationId, 0, 1, queries);
  let low = (oldest?.position ?? 1) - 1;
  let high = end;
  while (high - low > rowsPerRead) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await listEvents(applicationId, middle, 1, queries);
    if (event !== undefined && event.at < at) low = middle;
    else high = middle;
  }
  return low;
}

/** Returns deliveries for events that an operator wants sent (again). */
export function replaysOf(
  { application_id, id: webhook_id }: WebhookRow,
  { log, events }: LoggedEvents,
  now: number,
  newId: () => string,
): WebhookDeliveryRow[] {
  return events.map(({ id: event_id, type, position }) => ({
    ...{
      application_id,
      webhook_id,
      id: newId(),
      event_id,
      type,
      log,
      position,
      attempt: 0,
      state: "waiting" as const,
    },
    ...{ status: null, ms: null, error: null, response: null, is_replay: 1, created_at: now, next_attempt_at: now },
  }));
}
