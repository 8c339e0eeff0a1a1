import type { Queries } from "../db/database.ts";

/** How often the use of a device is stored, which bounds how far behind `last_seen_at` is. */
export const deviceUseMs = 3_600_000;

/** The last use of a device. */
export interface DeviceUse {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly usedAt: number;
}

export async function updateDeviceUses(uses: readonly DeviceUse[], queries: Queries): Promise<void> {
  for (const { applicationId, deviceId, usedAt } of uses) {
    await queries
      .updateTable("devices")
      .set({ last_seen_at: usedAt })
      .where("application_id", "=", applicationId)
      .where("id", "=", deviceId)
      .where(({ or, eb }) => or([eb("last_seen_at", "is", null), eb("last_seen_at", "<", usedAt)]))
      .execute();
  }
}
