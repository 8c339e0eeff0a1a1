import type { Queries } from "../db/database.ts";
import { prepare, prepareInsert } from "../db/prepared.ts";
import type { DeviceRow } from "../db/tables.ts";

/**
 * Inserts a device, or updates the application's device with this unique id; null does not change a column. It is a single
 * statement, so that concurrent registrations get the same device.
 */
export async function insertOrUpdateDevice(
  device: DeviceRow,
  queries: Queries,
): Promise<Pick<DeviceRow, "id" | "token_version">> {
  const [registered] = await insertOrUpdate(queries, device);
  if (registered === undefined) throw new Error("An upsert returns its row");
  return registered;
}

export async function findDevice(applicationId: string, id: string, queries: Queries): Promise<DeviceRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  return row;
}

export async function updateDevice(
  applicationId: string,
  id: string,
  changed: Partial<Omit<DeviceRow, "application_id" | "id">>,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("devices")
    .set(changed)
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

const insertOrUpdate = prepareInsert<DeviceRow, Pick<DeviceRow, "id" | "token_version" | "unique_id">>(
  (queries, parameter) =>
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
        model: parameter("model"),
        os_version: parameter("os_version"),
        app_version: parameter("app_version"),
        push_token: parameter("push_token"),
        push_token_by: parameter("push_token_by"),
        connection_type: parameter("connection_type"),
        is_production: parameter("is_production"),
        tag: parameter("tag"),
        lat: parameter("lat"),
        lng: parameter("lng"),
        key_id: parameter("key_id"),
        registered_at: parameter("registered_at"),
        last_seen_at: parameter("last_seen_at"),
      })
      .onConflict((conflict) =>
        conflict.columns(["application_id", "unique_id"]).doUpdateSet(({ ref, fn }) => ({
          platform: ref("excluded.platform"),
          modified_at: ref("excluded.modified_at"),
          model: fn.coalesce("excluded.model", "devices.model"),
          os_version: fn.coalesce("excluded.os_version", "devices.os_version"),
          app_version: fn.coalesce("excluded.app_version", "devices.app_version"),
          push_token: fn.coalesce("excluded.push_token", "devices.push_token"),
          push_token_by: fn.coalesce("excluded.push_token_by", "devices.push_token_by"),
          connection_type: fn.coalesce("excluded.connection_type", "devices.connection_type"),
          is_production: fn.coalesce("excluded.is_production", "devices.is_production"),
          tag: fn.coalesce("excluded.tag", "devices.tag"),
          lat: fn.coalesce("excluded.lat", "devices.lat"),
          lng: fn.coalesce("excluded.lng", "devices.lng"),
          key_id: ref("excluded.key_id"),
          registered_at: ref("excluded.registered_at"),
          last_seen_at: ref("excluded.last_seen_at"),
        })),
      )
      .returning(["id", "token_version", "unique_id"]),
  ["id", "unique_id"],
);

const findById = prepare<{ applicationId: string; id: string }, DeviceRow>((queries, parameter) =>
  queries
    .selectFrom("devices")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);
