import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { filePrefix } from "./orphaned-objects.ts";
import { refundUsage } from "./usage.ts";

/**
 * Deletes an unfinished upload, unless a process is assembling its file. Its bytes are erased with their row in
 * `loose_bytes` an hour later, when every writer has noticed.
 *
 * @param leaseMax also deletes an upload that is being finished, if its lease expires before this time
 * @returns false if there is nothing to delete
 */
export async function dropUpload(
  applicationId: string,
  id: string,
  { now, leaseMax = now }: { readonly now: number; readonly leaseMax?: number },
  queries: Queries,
): Promise<boolean> {
  // Updates the row first, so that a concurrent change happens before this one or finds the upload gone.
  const claimed = await queries
    .updateTable("resumable_uploads")
    .set({ expires_at: 0 })
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .where("finishing_until", "<=", leaseMax)
    .executeTakeFirst();
  if (claimed.numUpdatedRows === 0n) return false;
  await deleteUpload(applicationId, id, queries);
  await queries
    .updateTable("loose_bytes")
    .set({ loose_at: now })
    .where("application_id", "=", applicationId)
    .where("key", "=", filePrefix(applicationId, id))
    .where("loose_at", ">", now)
    .execute();
  return true;
}

/** Deletes the rows of a locked upload and refunds its quota. */
export async function deleteUpload(applicationId: string, id: string, queries: Queries): Promise<void> {
  await sql`delete from upload_segments where application_id = ${applicationId} and upload_id = ${id}`.execute(queries);
  const { rows } = await sql<{ user_id: string; length: number }>`
    delete from resumable_uploads where application_id = ${applicationId} and id = ${id} returning user_id, length`.execute(
    queries,
  );
  for (const { user_id, length } of rows) {
    await refundUsage(applicationId, user_id, { bytes: length, files: 1 }, queries);
  }
}
