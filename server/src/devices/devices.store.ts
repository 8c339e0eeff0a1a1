import type { Queries } from "../db/database.ts";
import type { NewDeviceRow } from "../db/tables.ts";

/**
 * Inserts a device, or finds the one that the application has under this unique id already and updates it: one
 * statement, so that registrations at the same time agree on one device.
 */
export async function insertOrUpdateDevice(
  row: NewDeviceRow,
  queries: Queries,
): Promise<{ id: string; token_version: number }> {
  return queries
    .insertInto("devices")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["application_id", "unique_id"]).doUpdateSet((excluded) => ({
        platform: excluded.ref("excluded.platform"),
        modified_at: excluded.ref("excluded.modified_at"),
      })),
    )
    .returning(["id", "token_version"])
    .executeTakeFirstOrThrow();
}
