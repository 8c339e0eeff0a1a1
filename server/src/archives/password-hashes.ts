import type { Config } from "../config/config.ts";

/** The hash format of `auth/passwords.ts`. */
const pattern = /^\$argon2id\$v=19\$m=([1-9]\d{0,6}),t=([1-9]\d?),p=1\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;
const timesOwnMax = 4;

/** The costs of the deployment's own hashes. */
export type PasswordCosts = Pick<Config, "passwordHashMemoryKib" | "passwordHashPasses">;

/**
 * Whether a hash from another deployment may be stored. A hash determines the memory and time of verifying a password, so
 * a forged one could exhaust the server; it may cost at most four times as much as the deployment's own hashes.
 */
export function isBoundedHash(storedHash: string, own: PasswordCosts): boolean {
  const [, memoryKib, passes] = pattern.exec(storedHash) ?? [];
  const costMax = timesOwnMax * own.passwordHashMemoryKib * own.passwordHashPasses;
  return memoryKib !== undefined && Number(memoryKib) * Number(passes) <= costMax;
}
