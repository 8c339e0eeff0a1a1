import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { typesOf } from "./webhooks.fields.ts";

/** The number of events per read of the log. */
export const eventsPerRead = 500;

/** A logged event to send, in log order. */
export interface Item {
  readonly event: PlacedEvent;
  state: "ready" | "sending" | "done";
}

/** One delivery attempt. */
export interface Entry {
  readonly eventId: string;
  readonly type: string;
  readonly position: number;
  readonly isProbe: boolean;
  /** The row of an event that was attempted before, or that an operator repeats. */
  readonly delivery?: WebhookDeliveryRow;
  readonly item?: Item;
  /** For a probe with a logged event: whether the event directly follows the cursor. */
  readonly isNext?: boolean;
}

/** Whether a webhook receives an event: the type matches, and the event does not concern the webhook itself. */
export function isWanted({ type, position, object_id }: PlacedEvent, { id, types }: WebhookRow): boolean {
  if (object_id === id && (type === "webhook.gap" || type === "webhook.disabled")) return false;
  const begin = typesOf(types).get(type);
  return begin !== undefined && position > begin;
}

export function entryOf({ id, type, position }: PlacedEvent): Entry {
  return { eventId: id, type, position, isProbe: false };
}

export function entryOfDelivery(delivery: WebhookDeliveryRow): Entry {
  const { event_id, type, position } = delivery;
  return { eventId: event_id, type, position, isProbe: false, delivery };
}

export function keyOf({ delivery, eventId }: Entry): string {
  return delivery?.id ?? eventId;
}
