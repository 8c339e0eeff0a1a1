import type { Database } from "../db/database.ts";
import { type TokenUse, updateUserTokenUses } from "./user-tokens.ts";

/** Remembers when user tokens were used last, and writes it down now and then: not a write per request. */
export interface TokenUses {
  /** @param use told once; the object is looked at when it is written down, so that later uses need no call */
  note(use: TokenUse): void;
  /** Writes down what has been noted, of one user or of all; a use noted later comes with the next call. */
  save(userId?: string): Promise<void>;
}

const usesPerStep = 500;

export function createTokenUses(database: Database): TokenUses {
  /** By user, then by token. */
  const noted = new Map<string, Map<string, TokenUse>>();

  function note(use: TokenUse): void {
    const ofUser = noted.get(use.userId);
    if (ofUser === undefined) noted.set(use.userId, new Map([[use.tokenId, use]]));
    else ofUser.set(use.tokenId, use);
  }

  function take(userIds: readonly string[]): TokenUse[] {
    const taken = userIds.flatMap((userId) => [...(noted.get(userId)?.values() ?? [])]);
    for (const userId of userIds) noted.delete(userId);
    // In one order everywhere, so that two processes never wait for each other.
    return taken.toSorted((a, b) => (a.tokenId < b.tokenId ? -1 : 1));
  }

  return {
    note,
    async save(userId) {
      const uses = take(userId === undefined ? [...noted.keys()] : [userId]);
      try {
        while (uses.length > 0) {
          const step = uses.slice(0, usesPerStep);
          await database.write(({ queries }) => updateUserTokenUses(step, queries));
          uses.splice(0, step.length);
        }
      } finally {
        for (const use of uses) note(use); // what could not be written down is tried again
      }
    },
  };
}
