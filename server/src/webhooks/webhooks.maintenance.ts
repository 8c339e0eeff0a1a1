import { sql } from "kysely";
import { deleteEnded } from "../db/steps.ts";
import type { WebhookRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { pruneSuccesses } from "./webhooks.deliveries.store.ts";
import { findWebhook, updateWebhook } from "./webhooks.store.ts";

type MaintenanceServices = Pick<Services, "database" | "eventLog" | "webhookSealer">;

/**
 * Retains the log of an application for its webhooks, deletes deliveries with their events or their webhook, and
 * reseals secrets under the newest ROLLCALL_SECRET.
 */
export async function maintainWebhooks(
  applicationId: string,
  services: MaintenanceServices,
  signal?: AbortSignal,
): Promise<void> {
  const { database, eventLog } = services;
  const rows = await database.reads
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", applicationId)
    .execute();
  if (rows.some(({ state }) => state !== "disabled")) await retainLog(applicationId, services);
  for (const row of rows) {
    await reseal(row, services);
    await pruneSuccesses({ applicationId, id: row.id }, database, signal);
  }
  const [oldest] = await eventLog.list(applicationId, 0, 1);
  const isDropped = oldest === undefined ? sql`1 = 1` : sql`position < ${oldest.position}`;
  const isOrphaned = rows.length === 0 ? sql`1 = 1` : sql`webhook_id not in (${sql.join(rows.map(({ id }) => id))})`;
  const isEnded = sql`application_id = ${applicationId} and (${isDropped} or ${isOrphaned})`;
  await deleteEnded("webhook_deliveries", isEnded, database, signal);
}

async function retainLog(applicationId: string, { eventLog }: MaintenanceServices): Promise<void> {
  await eventLog.findEnd(applicationId).catch((error) => {
    const isOff = error instanceof ApiError && error.condition === "AuthAPICallDisabledByDeveloper";
    if (!isOff) throw error;
  });
}

async function reseal(row: WebhookRow, { database, webhookSealer }: MaintenanceServices): Promise<void> {
  const resealed = webhookSealer.resealed(row);
  if (Object.keys(resealed).length === 0) return;
  const key = { applicationId: row.application_id, id: row.id };
  await database.write(async ({ queries }) => {
    const found = await findWebhook(key, queries);
    // If an operator has just rotated the secret, the next round reseals it.
    if (found?.secret !== row.secret || found.headers !== row.headers) return;
    await updateWebhook(key, resealed, queries);
  });
}
