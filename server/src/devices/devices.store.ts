import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { DeviceRow } from "../db/tables.ts";

/**
 * Inserts a device, or finds the one that the application has under this unique id already and updates it: one
 * statement, so that registrations at the same time agree on one device.
 */
export async function insertOrUpdateDevice(
  device: DeviceRow,
  queries: Queries,
): Promise<Pick<DeviceRow, "id" | "token_version">> {
  const [registered] = await insertOrUpdate(queries, device);
  if (registered === undefined) throw new Error("An upsert returns its row");
  return registered;
}

const insertOrUpdate = prepare<DeviceRow, Pick<DeviceRow, "id" | "token_version">>((queries, parameter) =>
  queries
    .insertInto("devices")
    .values({
      application_id: parameter("application_id"),
      id: parameter("id"),
      unique_id: parameter("unique_id"),
      platform: parameter("platform"),
      token_version: parameter("token_version"),
      created_at: parameter("created_at"),
      modified_at: parameter("modified_at"),
    })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "unique_id"]).doUpdateSet((excluded) => ({
        platform: excluded.ref("excluded.platform"),
        modified_at: excluded.ref("excluded.modified_at"),
      })),
    )
    .returning(["id", "token_version"]),
);
