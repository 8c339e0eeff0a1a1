import type { Database } from "../db/database.ts";
import { listLengthMax } from "../db/search/list-lengths.ts";
import { type DeviceUse, updateDeviceUses } from "./last-uses.ts";
import { type TokenUse, updateUserTokenUses } from "./user-tokens.ts";

/** Remembers the last use of user tokens and of devices, and stores it periodically instead of once per request. */
export interface TokenUses {
  /** @param use noted once and read when it is stored, so that later uses need no further call */
  note(use: TokenUse): void;
  noteDevice(use: DeviceUse): void;
  /** Stores noted uses, of one user or of all; later uses are stored by the next call. */
  save(userId?: string): Promise<void>;
}

export function createTokenUses(database: Database): TokenUses {
  /** By user, then by token. */
  const noted = new Map<string, Map<string, TokenUse>>();
  const devices = new Map<string, DeviceUse>();
  const { dialect } = database;

  function note(use: TokenUse): void {
    const ofUser = noted.get(use.userId);
    if (ofUser === undefined) noted.set(use.userId, new Map([[use.tokenId, use]]));
    else ofUser.set(use.tokenId, use);
  }

  function take(userIds: readonly string[]): TokenUse[] {
    const taken = userIds.flatMap((userId) => [...(noted.get(userId)?.values() ?? [])]);
    for (const userId of userIds) noted.delete(userId);
    return taken;
  }

  async function saveDevices(): Promise<void> {
    const uses = [...devices.values()];
    for (let start = 0; start < uses.length; start += listLengthMax) {
      const step = uses.slice(start, start + listLengthMax);
      await database.write(({ queries }) => updateDeviceUses(step, { dialect, queries }));
      for (const use of step) if (devices.get(use.deviceId) === use) devices.delete(use.deviceId);
    }
  }

  return {
    note,
    noteDevice: (use) => void devices.set(use.deviceId, use),
    async save(userId) {
      if (userId === undefined) await saveDevices();
      const uses = take(userId === undefined ? [...noted.keys()] : [userId]);
      try {
        while (uses.length > 0) {
          const step = uses.slice(0, listLengthMax);
          await database.write(({ queries }) => updateUserTokenUses(step, { dialect, queries }));
          uses.splice(0, step.length);
        }
      } finally {
        for (const use of uses) note(use); // uses that could not be stored wait for the next attempt
      }
    },
  };
}
