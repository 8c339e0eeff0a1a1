import type { Queries } from "../db/database.ts";
import { readPage } from "../db/page.ts";
import type { IdentityRow } from "../db/tables.ts";
import type { Key, Page, Position } from "../lib/keyset.ts";

/**
 * Attaches an identity to a user; to the same user again changes nothing.
 *
 * @returns false when another user of the application holds it
 */
export async function insertIdentity(row: IdentityRow, queries: Queries): Promise<boolean> {
  const held = await queries
    .insertInto("identities")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["application_id", "provider", "identifier"])
        // Changes nothing, but makes the row come back if it is the same user's, in one statement.
        .doUpdateSet((excluded) => ({ user_id: excluded.ref("excluded.user_id") }))
        .whereRef("identities.user_id", "=", "excluded.user_id"),
    )
    .returning("user_id")
    .executeTakeFirst();
  return held !== undefined;
}

export async function findIdentityUser(
  applicationId: string,
  provider: string,
  identifier: string,
  queries: Queries,
): Promise<string | undefined> {
  const row = await queries
    .selectFrom("identities")
    .select("user_id")
    .where("application_id", "=", applicationId)
    .where("provider", "=", provider)
    .where("identifier", "=", identifier)
    .executeTakeFirst();
  return row?.user_id;
}

/** A page of the user's identities, newest first; of one provider, or of all. */
export async function listIdentities(
  applicationId: string,
  userId: string,
  provider: string | undefined,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<IdentityRow>> {
  let query = queries
    .selectFrom("identities")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId);
  if (provider !== undefined) query = query.where("provider", "=", provider);
  return readPage(query, ["created_at", "provider", "identifier"], position, size);
}

/** Where an identity stands in its listing. */
export function identityKey({ created_at, provider, identifier }: IdentityRow): Key {
  return [created_at, provider, identifier];
}
