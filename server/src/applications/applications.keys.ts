import type { Transaction } from "../db/database.ts";
import { lockApplication } from "../db/lock.ts";
import type { Services } from "../services.ts";
import {
  type ApplicationKey,
  countLiveKeys,
  findKey,
  insertKey,
  type NewApplicationKey,
  updateKeyRetired,
} from "./applications.keys.store.ts";

/** The maximum number of keys that devices can register with. */
export const liveKeysMax = 100;

/** Creates a key. @returns undefined if there are {@link liveKeysMax} already */
export async function createKey(
  applicationId: string,
  label: string | null,
  { database: { dialect }, clock, ids }: Pick<Services, "database" | "clock" | "ids">,
  { queries }: Transaction,
): Promise<NewApplicationKey | undefined> {
  await lockApplication(dialect, applicationId, queries);
  if ((await countLiveKeys(applicationId, queries)) >= liveKeysMax) return undefined;
  return insertKey(applicationId, label, { clock, ids }, queries);
}

/**
 * Retires a key: devices can no longer register with it, and every token below it is revoked. Does nothing if it is
 * invalid already.
 *
 * @param mayBeLast false to refuse the last active key: then the result is "last"
 * @returns undefined if there is no such key
 */
export async function retireKey(
  applicationId: string,
  keyId: string,
  mayBeLast: boolean,
  { database: { dialect }, revocations, clock }: Pick<Services, "database" | "revocations" | "clock">,
  transaction: Transaction,
): Promise<ApplicationKey | "last" | undefined> {
  const { queries } = transaction;
  await lockApplication(dialect, applicationId, queries);
  const key = await findKey(applicationId, keyId, queries);
  if (key === undefined || key.retired_at !== null || key.generation !== key.key_generation) return key;
  if (!mayBeLast && (await countLiveKeys(applicationId, queries)) === 1) return "last";
  const retired_at = clock.now();
  await updateKeyRetired(applicationId, keyId, retired_at, queries);
  await revocations.endKeyTokens(applicationId, keyId, transaction);
  return { ...key, retired_at };
}

/**
 * Invalidates all keys and tokens of an application with one write, however many there are, and creates a new key, with
 * which devices register again.
 */
export async function replaceKeys(
  applicationId: string,
  { revocations, clock, ids }: Pick<Services, "revocations" | "clock" | "ids">,
  transaction: Transaction,
): Promise<NewApplicationKey> {
  await revocations.endApplicationTokensAndKeys(applicationId, transaction);
  return insertKey(applicationId, null, { clock, ids }, transaction.queries);
}
