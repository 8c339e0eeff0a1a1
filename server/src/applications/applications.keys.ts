import type { Revocations } from "../auth/revocations.ts";
import type { Transaction } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockApplication } from "../db/lock.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import {
  type ApplicationKey,
  countLiveKeys,
  findKey,
  insertKey,
  type NewApplicationKey,
  updateKeyRetired,
} from "./applications.keys.store.ts";

/** Keys of an application that devices can register with at the same time. */
export const liveKeysMax = 100;

interface Services {
  readonly dialect: Dialect;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** One more key. @returns undefined when there are {@link liveKeysMax} already */
export async function createKey(
  applicationId: string,
  label: string | null,
  { dialect, clock, ids }: Omit<Services, "revocations">,
  { queries }: Transaction,
): Promise<NewApplicationKey | undefined> {
  await lockApplication(dialect, applicationId, queries);
  if ((await countLiveKeys(applicationId, queries)) >= liveKeysMax) return undefined;
  return insertKey(applicationId, label, { clock, ids }, queries);
}

/**
 * Takes a key out of use: nobody registers with it any more, and every token below it is dead. One that is dead already
 * stays as it is.
 *
 * @param mayBeLast false to let the last one live that devices can register with: then the answer is "last"
 * @returns undefined when there is no such key
 */
export async function retireKey(
  applicationId: string,
  keyId: string,
  mayBeLast: boolean,
  { dialect, revocations, clock }: Omit<Services, "ids">,
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
 * Gives up all keys of an application at once, and every token: one write, however many there are. What devices come
 * back with is the new key.
 */
export async function replaceKeys(
  applicationId: string,
  { revocations, clock, ids }: Omit<Services, "dialect">,
  transaction: Transaction,
): Promise<NewApplicationKey> {
  await revocations.endApplicationTokensAndKeys(applicationId, transaction);
  return insertKey(applicationId, null, { clock, ids }, transaction.queries);
}
