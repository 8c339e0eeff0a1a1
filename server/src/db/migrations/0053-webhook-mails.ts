import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * When the mail about a disabled webhook is due; null if there is none to send (spec/webhooks#failing). The other index finds
 * the deliveries of an event (spec/events#operators-events).
 */
export const webhookMails: Migration = {
  name: "0053-webhook-mails",
  statements: ({ integer }) => [
    sql`alter table webhooks add column mail_due_at ${integer}`,
    sql`create index webhooks_by_mail on webhooks (mail_due_at) where mail_due_at is not null`,
    sql`create index if not exists webhook_deliveries_by_event on webhook_deliveries (application_id, event_id)`,
  ],
};
