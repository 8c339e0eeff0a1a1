import { storeLastUses, type UseStatements } from "./last-uses.ts";

/** How often the use of a device is stored, which bounds how far behind `last_seen_at` is. */
export const deviceUseMs = 3_600_000;

/** The last use of a device. */
export interface DeviceUse {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly usedAt: number;
}

export async function updateDeviceUses(uses: readonly DeviceUse[], statements: UseStatements): Promise<void> {
  await storeLastUses(
    { name: "devices", time: "last_seen_at", key: ["id"] },
    uses.map(({ applicationId, deviceId, usedAt }) => ({ applicationId, key: [deviceId], at: usedAt })),
    statements,
  );
}
