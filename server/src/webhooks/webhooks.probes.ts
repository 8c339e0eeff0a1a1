import type { Queries } from "../db/database.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { EventLog } from "../event-log/event-log.ts";
import { type Entry, entryOf, entryOfDelivery, eventsPerRead, isWanted } from "./webhooks.entries.ts";
import { findWaitingBehind } from "./webhooks.serving.store.ts";

/**
 * Returns the event with which to probe a failing webhook: a different one each time, starting with the oldest, because
 * the receiver may refuse one particular event.
 */
export async function findProbe(
  row: WebhookRow,
  { eventLog, reads }: { readonly eventLog: EventLog; readonly reads: Queries },
): Promise<Entry | undefined> {
  const { probed, position } = row;
  const isAfterDelivery = probed === "" || probed.startsWith("whd_");
  const waiting = isAfterDelivery ? await findWaiting(row, probed, reads) : undefined;
  if (waiting !== undefined) return waiting;
  const behind = isAfterDelivery ? position : Math.max(Number(probed), position);
  return (
    (await findEvent(row, behind, eventLog)) ??
    (await findWaiting(row, "", reads)) ??
    (await findEvent(row, position, eventLog))
  );
}

async function findWaiting(
  { application_id, id }: WebhookRow,
  behind: string,
  reads: Queries,
): Promise<Entry | undefined> {
  const delivery = await findWaitingBehind({ applicationId: application_id, id }, behind, reads);
  return delivery && { ...entryOfDelivery(delivery), isProbe: true };
}

async function findEvent(row: WebhookRow, after: number, eventLog: EventLog): Promise<Entry | undefined> {
  const events = await eventLog.list(row.application_id, after, eventsPerRead);
  const event = events.find((each) => isWanted(each, row));
  return event && { ...entryOf(event), isProbe: true, isNext: after === row.position };
}
