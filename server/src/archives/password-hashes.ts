/** The format of `auth/passwords.ts`. */
const pattern = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=1\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;
const memoryKibMax = 1_048_576;
const passesMax = 32;

/**
 * True if a hash from another deployment may be stored: the hash determines the memory and time for checking a
 * password, so a forged one could exhaust the server. The bounds are far above any useful parameters.
 */
export function isBoundedHash(storedHash: string): boolean {
  const [, memoryKib, passes] = pattern.exec(storedHash) ?? [];
  return memoryKib !== undefined && Number(memoryKib) <= memoryKibMax && Number(passes) <= passesMax;
}
