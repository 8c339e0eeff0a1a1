import { createHmac, hkdfSync } from "node:crypto";
import { LRUCache } from "lru-cache";

/**
 * Stands for a user or a device in what is kept of events: enough to tell how many there are, and nobody can tell who
 * they are without the id, which goes when the user is deleted.
 */
export interface Pseudonyms {
  /** 64 bits in hex; another one in each application, and under each secret of the deployment. */
  of(applicationId: string, id: string): string;
}

const keysMax = 10_000;
const pseudonymsMax = 50_000;

/** @param secrets newest first. A new one gives everybody a new pseudonym: who comes before and after counts twice. */
export function createPseudonyms(secrets: readonly string[]): Pseudonyms {
  const [secret] = secrets;
  if (secret === undefined) throw new Error("createPseudonyms needs a secret");
  const root = Buffer.from(hkdfSync("sha256", secret, "rollcall", "metric pseudonym", 32));
  const keys = new LRUCache<string, Buffer>({ max: keysMax });
  const known = new LRUCache<string, string>({ max: pseudonymsMax });

  function keyOf(applicationId: string): Buffer {
    let key = keys.get(applicationId);
    if (key === undefined) {
      key = createHmac("sha256", root).update(applicationId).digest();
      keys.set(applicationId, key);
    }
    return key;
  }

  return {
    of(applicationId, id) {
      const name = `${applicationId} ${id}`;
      let pseudonym = known.get(name);
      if (pseudonym === undefined) {
        pseudonym = createHmac("sha256", keyOf(applicationId)).update(id).digest("hex").slice(0, 16);
        known.set(name, pseudonym);
      }
      return pseudonym;
    },
  };
}
