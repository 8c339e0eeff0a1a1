import type { Transaction } from "../db/database.ts";
import { lockApplication } from "../db/lock.ts";
import type { Services } from "../operations/services.ts";
import { applicationEvent } from "./applications.events.ts";
import {
  type ApplicationKey,
  countLiveKeys,
  findKey,
  insertKey,
  type NewApplicationKey,
  updateKeyRetired,
} from "./applications.keys.store.ts";

/** The maximum number of active keys. */
export const liveKeysMax = 100;

/** Creates a key. @returns undefined if the application has {@link liveKeysMax} active keys */
export async function createKey(
  applicationId: string,
  label: string | null,
  { database: { dialect }, clock, ids, events }: Pick<Services, "database" | "clock" | "ids" | "events">,
  { queries }: Transaction,
): Promise<NewApplicationKey | undefined> {
  await lockApplication(dialect, applicationId, queries);
  if ((await countLiveKeys(applicationId, queries)) >= liveKeysMax) return undefined;
  const key = await insertKey(applicationId, label, { clock, ids }, queries);
  await events.record(applicationId, applicationEvent(applicationId, "keys_changed"), queries);
  return key;
}

/**
 * Retires a key: devices can no longer register with it, and every token below it is revoked. Does nothing with an invalid
 * key.
 *
 * @param mayBeLast if false, the last active key is not retired, and the result is "last"
 * @returns undefined if there is no such key
 */
export async function retireKey(
  applicationId: string,
  keyId: string,
  mayBeLast: boolean,
  services: Pick<Services, "database" | "revocations" | "clock" | "events">,
  transaction: Transaction,
): Promise<ApplicationKey | "last" | undefined> {
  const { database, revocations, clock, events } = services;
  const { queries } = transaction;
  await lockApplication(database.dialect, applicationId, queries);
  const key = await findKey(applicationId, keyId, queries);
  if (key === undefined || key.retired_at !== null || key.generation !== key.key_generation) return key;
  if (!mayBeLast && (await countLiveKeys(applicationId, queries)) === 1) return "last";
  const retired_at = clock.now();
  await updateKeyRetired(applicationId, keyId, retired_at, queries);
  await events.record(applicationId, applicationEvent(applicationId, "keys_changed"), queries);
  await revocations.endKeyTokens(applicationId, keyId, transaction);
  return { ...key, retired_at };
}

/**
 * Invalidates all keys and tokens of an application with one write, regardless of their number, and creates a new key with
 * which devices can register again.
 */
export async function replaceKeys(
  applicationId: string,
  { revocations, clock, ids, events }: Pick<Services, "revocations" | "clock" | "ids" | "events">,
  transaction: Transaction,
): Promise<NewApplicationKey> {
  await events.record(applicationId, applicationEvent(applicationId, "compromised"), transaction.queries);
  await revocations.endApplicationTokensAndKeys(applicationId, transaction);
  return insertKey(applicationId, null, { clock, ids }, transaction.queries);
}
