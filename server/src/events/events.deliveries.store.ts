import type { Queries } from "../db/database.ts";
import type { WebhookDeliveryRow } from "../db/tables.ts";

const deliveriesMax = 100;

/** The deliveries of an event, by webhook, the oldest first. */
export function listEventDeliveries(
  applicationId: string,
  eventId: string,
  queries: Queries,
): Promise<WebhookDeliveryRow[]> {
  return queries
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("event_id", "=", eventId)
    .orderBy("webhook_id")
    .orderBy("id")
    .limit(deliveriesMax)
    .execute();
}
