import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { eraseMetadataOf } from "../jobs/metadata-erasure.ts";
import { deleteSomeRows } from "../jobs/owned-rows.ts";

const rowsPerStep = 250;

/** @returns the number of erased rows */
type Eraser = (applicationId: string, deviceId: string, queries: Queries) => Promise<number>;

const erasers: readonly Eraser[] = [
  (application_id, device_id, queries) =>
    deleteSomeRows("user_tokens", { application_id, device_id }, rowsPerStep, queries),
  (application_id, device_id, queries) =>
    deleteSomeRows("crash_reports", { application_id, device_id }, rowsPerStep, queries),
  removeFromCrashGroup,
];

/** Removes the device from a group and its count of devices. Other counts of the group stay. */
async function removeFromCrashGroup(applicationId: string, deviceId: string, queries: Queries): Promise<number> {
  const left = await queries
    .selectFrom("crash_group_devices")
    .select("fingerprint")
    .where("application_id", "=", applicationId)
    .where("device_id", "=", deviceId)
    .limit(1)
    .executeTakeFirst();
  if (left === undefined) return 0;
  await queries
    .deleteFrom("crash_group_devices")
    .where("application_id", "=", applicationId)
    .where("fingerprint", "=", left.fingerprint)
    .where("device_id", "=", deviceId)
    .execute();
  await queries
    .updateTable("crash_groups")
    .set((row) => ({ devices: row("devices", "-", 1) }))
    .where("application_id", "=", applicationId)
    .where("fingerprint", "=", left.fingerprint)
    .execute();
  return 1;
}

/**
 * Erases a test device and its data, a bounded number of rows per transaction. Can be interrupted and repeated; rows of
 * concurrent requests are erased by the next run.
 */
export async function eraseTestDevice(
  applicationId: string,
  deviceId: string,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  for (const eraseSome of erasers) {
    let rows: number;
    do {
      signal?.throwIfAborted();
      rows = await database.write(({ queries }) => eraseSome(applicationId, deviceId, queries));
    } while (rows > 0);
  }
  try {
    await database.write(async ({ queries }) => {
      await eraseMetadataOf(applicationId, deviceId, queries);
      await queries
        .deleteFrom("devices")
        .where("application_id", "=", applicationId)
        .where("id", "=", deviceId)
        .execute();
      await deleteSomeRows("test_callers", { application_id: applicationId, device_id: deviceId }, 1, queries);
    });
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error; // a concurrent request has added rows
  }
}
