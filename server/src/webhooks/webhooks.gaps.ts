import type { Database } from "../db/database.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { insertDeliveries } from "./webhooks.deliveries.store.ts";
import { eventsPerRead } from "./webhooks.entries.ts";
import { readStoredPatterns, writePatterns } from "./webhooks.fields.ts";
import { updateWebhook } from "./webhooks.store.ts";

interface GapServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly events: EventRecorder;
  readonly eventLog: EventLog;
}

/**
 * Moves a webhook whose position is older than the log to the oldest event. The webhook first receives an event about
 * the gap (spec/webhooks#gaps). A crash in between repeats that event.
 *
 * @param end of the log
 */
export async function skipGap(
  row: WebhookRow,
  end: Cursor,
  { database, clock, ids, events, eventLog }: GapServices,
): Promise<void> {
  const { application_id, id, position_at } = row;
  const [oldest] = await eventLog.list(application_id, 0, 1);
  const from = new Date(position_at).toISOString();
  const to = new Date(oldest?.at ?? clock.now()).toISOString();
  await database.write(({ queries }) =>
    events.record(application_id, { type: "webhook.gap", objectId: id, key: `${from}/${to}` }, queries),
  );
  const gap = await findGapEvent(application_id, id, end, eventLog);
  const now = clock.now();
  await database.write(async ({ queries }) => {
    const position = oldest === undefined ? end.position : oldest.position - 1;
    const patterns = Object.keys(readStoredPatterns(row.types));
    await updateWebhook(
      application_id,
      id,
      {
        ...{ log: end.log, position, event_id: "", position_at: oldest?.at ?? now },
        ...(row.log !== end.log && { types: writePatterns(patterns, () => 0) }),
      },
      queries,
    );
    if (gap === undefined) return;
    const delivery: WebhookDeliveryRow = {
      ...{ application_id, webhook_id: id, id: ids.newId("WebhookDelivery"), event_id: gap.id, type: gap.type },
      ...{ log: end.log, position: gap.position, attempt: 0, state: "waiting", is_replay: 0 },
      ...{ status: null, ms: null, error: null, response: null },
      created_at: now,
      next_attempt_at: 0, // due before all other deliveries
    };
    await insertDeliveries([delivery], queries);
  });
}

async function findGapEvent(
  applicationId: string,
  webhookId: string,
  from: Cursor,
  eventLog: EventLog,
): Promise<PlacedEvent | undefined> {
  const { position: end } = await eventLog.findEnd(applicationId);
  let position = from.position;
  while (position < end) {
    const events = await eventLog.list(applicationId, position, eventsPerRead);
    const found = events.find(({ type, object_id }) => type === "webhook.gap" && object_id === webhookId);
    if (found !== undefined || events.length === 0) return found;
    position = events.at(-1)?.position ?? end;
  }
  return undefined;
}
