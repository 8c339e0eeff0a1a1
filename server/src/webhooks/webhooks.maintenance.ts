import { sql } from "kysely";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { updateWebhook } from "./webhooks.store.ts";

const rowsPerStep = 1_000;

/**
 * Retains the log of an application for its webhooks, deletes deliveries with their events or their webhook, and
 * reseals secrets under the newest ROLLCALL_SECRET.
 */
export async function maintainWebhooks(
  applicationId: string,
  services: Pick<Services, "database" | "eventLog" | "webhookSealer">,
  signal?: AbortSignal,
): Promise<void> {
  const { database, eventLog, webhookSealer } = services;
  const rows = await database.reads
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", applicationId)
    .execute();
  if (rows.some(({ state }) => state !== "disabled")) {
    await eventLog.findEnd(applicationId).catch((error) => {
      const isOff = error instanceof ApiError && error.condition === "AuthAPICallDisabledByDeveloper";
      if (!isOff) throw error;
    });
  }
  for (const row of rows) {
    const resealed = webhookSealer.resealed(row);
    if (Object.keys(resealed).length === 0) continue;
    // If an operator has just rotated the secret, the next round reseals it.
    await database.write(async ({ queries }) => {
      const { secret, headers } = row;
      const found = await queries
        .selectFrom("webhooks")
        .select(["secret", "headers"])
        .where("application_id", "=", applicationId)
        .where("id", "=", row.id)
        .executeTakeFirst();
      if (found?.secret !== secret || found.headers !== headers) return;
      await updateWebhook(applicationId, row.id, resealed, queries);
    });
  }
  const [oldest] = await eventLog.list(applicationId, 0, 1);
  const kept = rows.map(({ id }) => id);
  while (await deleteSome(applicationId, oldest?.position, kept, database)) signal?.throwIfAborted();
}

/** @returns whether rows may be left */
async function deleteSome(
  applicationId: string,
  keptFrom: number | undefined,
  webhookIds: readonly string[],
  database: Services["database"],
): Promise<boolean> {
  const isOld = keptFrom === undefined ? sql`1 = 1` : sql`position < ${keptFrom}`;
  const isOrphaned = webhookIds.length === 0 ? sql`1 = 1` : sql`webhook_id not in (${sql.join(webhookIds)})`;
  const { rows } = await sql<{ webhook_id: string; id: string }>`
    select webhook_id, id from webhook_deliveries
    where application_id = ${applicationId} and (${isOld} or ${isOrphaned}) limit ${rowsPerStep}`.execute(
    database.reads,
  );
  if (rows.length === 0) return false;
  await database.write(async ({ queries }) => {
    for (const [webhookId, ofWebhook] of Map.groupBy(rows, ({ webhook_id }) => webhook_id)) {
      await queries
        .deleteFrom("webhook_deliveries")
        .where("application_id", "=", applicationId)
        .where("webhook_id", "=", webhookId)
        .where(
          "id",
          "in",
          ofWebhook.map(({ id }) => id),
        )
        .execute();
    }
  });
  return rows.length === rowsPerStep;
}
