import { createHmac, hkdfSync } from "node:crypto";
import { LruMap } from "../../lib/lru-map.ts";
import { deriveFromEach, type Secrets } from "../../lib/secret-ring.ts";

/**
 * Replaces the id of a user or device in stored events. The hash can be counted, but not traced back without the id,
 * which is deleted with the user.
 */
export interface SaltedHashes {
  /** 64 bits in hex; differs between applications and between deployment secrets. */
  of(applicationId: string, id: string): string;
}

const keysMax = 10_000;
const saltedHashesMax = 50_000;

/** @param secrets a new one changes all hashes, so that a user counts twice, before and after the change */
export function createSaltedHashes(secrets: Secrets): SaltedHashes {
  const salts = deriveFromEach(secrets, (secret) => ({
    root: Buffer.from(hkdfSync("sha256", secret, "rollcall", "metric pseudonym", 32)),
    keys: new LruMap<string, Buffer>(keysMax),
    known: new LruMap<string, string>(saltedHashesMax),
  }));

  function keyOf(applicationId: string): Buffer {
    const { root, keys } = salts.sealing;
    let key = keys.get(applicationId);
    if (key === undefined) {
      key = createHmac("sha256", root).update(applicationId).digest();
      keys.set(applicationId, key);
    }
    return key;
  }

  return {
    of(applicationId, id) {
      const { known } = salts.sealing;
      const name = `${applicationId} ${id}`;
      let hash = known.get(name);
      if (hash === undefined) {
        hash = createHmac("sha256", keyOf(applicationId)).update(id).digest("hex").slice(0, 16);
        known.set(name, hash);
      }
      return hash;
    },
  };
}
