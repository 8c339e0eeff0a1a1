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
  const noted = new Map<string, TokenUse>();

  function take(userId: string | undefined): TokenUse[] {
    const taken = [...noted.values()].filter((use) => userId === undefined || use.userId === userId);
    for (const { tokenId } of taken) noted.delete(tokenId);
    // In one order everywhere, so that two processes never wait for each other.
    return taken.toSorted((a, b) => (a.tokenId < b.tokenId ? -1 : 1));
  }

  return {
    note(use) {
      noted.set(use.tokenId, use);
    },
    async save(userId) {
      const uses = take(userId);
      while (uses.length > 0) {
        const step = uses.splice(0, usesPerStep);
        await database.write(({ queries }) => updateUserTokenUses(step, queries));
      }
    },
  };
}
