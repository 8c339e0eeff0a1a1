import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { filePrefix } from "./loose-bytes.ts";
import { refundUsage } from "./usage.ts";

/**
 * Drops an unfinished upload, unless somebody is making the file of it. Its bytes go with their row in `loose_bytes`, an hour
 * later: whoever still writes some has noticed by then.
 *
 * @param leaseMax drops it also when it is being finished, under a lease that ends until then
 * @returns false when there is none to be dropped
 */
export async function dropUpload(
  applicationId: string,
  id: string,
  { now, leaseMax = now }: { readonly now: number; readonly leaseMax?: number },
  queries: Queries,
): Promise<boolean> {
  // First the row is changed, so that what happens to it at the same moment comes before, or finds it gone.
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

/** Deletes the rows of an upload that is locked already, and gives the room back that it took of the quotas. */
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
