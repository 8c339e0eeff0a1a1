import type { Database, Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { newRevision } from "../tenancy/revision.ts";
import type { TokenClaims } from "./tokens.ts";

/** How long a token stays valid after the first use of its successor (spec/authentication#renewal). */
export const overlapMs = 600_000;

/** First uses within this time are stored as one, the latest, which bounds their number. */
const slotMs = 30_000;

/** The session that a user token belongs to: its row in `user_tokens`. */
type Session = Pick<TokenClaims, "applicationId" | "tokenId"> & { readonly userId: string };

/** The first uses of tokens, by their number of renewals, in ascending order. */
type FirstUses = readonly (readonly [renewals: number, usedAt: number])[];

/** When the token expires because a successor has been used; Infinity before that. */
export function supersededAt(renewals: number | undefined, stored: string | null): number {
  if (stored === null) return Number.POSITIVE_INFINITY;
  const successor = readFirstUses(stored).find(([used]) => used > (renewals ?? 0));
  return successor === undefined ? Number.POSITIVE_INFINITY : successor[1] + overlapMs;
}

/** Adds a first use; drops the first uses that no longer affect any token. */
export function addFirstUse(stored: string | null, renewals: number, now: number): string {
  const earlier = readFirstUses(stored);
  const kept = earlier.filter(([, usedAt], index) => {
    const next = earlier[index + 1]?.[1] ?? now;
    return next > now - overlapMs && Math.floor(usedAt / slotMs) !== Math.floor(now / slotMs);
  });
  return [...kept, [renewals, now]].map((each) => each.join(":")).join();
}

function readFirstUses(stored: string | null): FirstUses {
  // A string of an imported archive that `addFirstUse` has not written gives numbers that affect no token.
  return (stored?.split(",") ?? []).map((each) => [Number(each.split(":")[0]), Number(each.split(":")[1])]);
}

/**
 * Stores the first use of a renewed token, unless it is stored already.
 *
 * @returns false when it could not be stored, which must not prevent the use of the token
 */
export async function storeFirstUse(
  { renewals = 0, userId = "", ...claims }: TokenClaims,
  stored: string | null,
  now: number,
  database: Database,
): Promise<boolean> {
  if (!isFirstUse(renewals, stored)) return true;
  const session = { ...claims, userId };
  const work = database.write(async ({ queries }) => {
    const found = await lockSession(session, database.dialect, queries);
    if (found === undefined || !isFirstUse(renewals, found.first_uses)) return;
    await updateSession(session, { first_uses: addFirstUse(found.first_uses, renewals, now) }, queries);
  });
  return work.then(
    () => true,
    () => false,
  );
}

function isFirstUse(renewals: number, stored: string | null): boolean {
  return renewals > 0 && renewals > (readFirstUses(stored).at(-1)?.[0] ?? 0);
}

/** Reads the row of a session for a read-modify-write. @returns undefined when the session does not exist */
export async function lockSession(
  { applicationId, userId, tokenId }: Session,
  { hasRowLocks }: Dialect,
  queries: Queries,
) {
  const found = queries
    .selectFrom("user_tokens")
    .select(["created_at", "expires_at", "renewals", "first_uses"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("id", "=", tokenId);
  return (hasRowLocks ? found.forUpdate() : found).executeTakeFirst();
}

export async function updateSession(
  { applicationId, userId, tokenId }: Session,
  changed: { readonly first_uses: string } | { readonly renewals: number; readonly expires_at: number },
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("user_tokens")
    .set(changed)
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("id", "=", tokenId)
    .execute();
}

/**
 * Records that tokens of the application are renewed: from now on every process checks its user tokens again, in time
 * to notice that they are superseded (`caller.ts`).
 *
 * @returns whether this is its first renewal, which changes the revision
 */
export async function noteRenewals(applicationId: string, queries: Queries): Promise<boolean> {
  const noted = await queries
    .updateTable("applications")
    .set({ renews_tokens: 1, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("renews_tokens", "=", 0)
    .executeTakeFirst();
  return noted.numUpdatedRows === 1n;
}
