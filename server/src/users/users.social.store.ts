import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";

/** A user's identity at a provider. */
export interface ProvenIdentity {
  readonly applicationId: string;
  readonly provider: string;
  readonly identifier: string;
}

/** The user who proved this identity; not one who merely claimed it, nor a deleted one. */
export async function findUserByProof(identity: ProvenIdentity, queries: Queries): Promise<UserRow | undefined> {
  return queries
    .selectFrom("identities as identity")
    .innerJoin("users as user", (join) =>
      join.onRef("user.application_id", "=", "identity.application_id").onRef("user.id", "=", "identity.user_id"),
    )
    .selectAll("user")
    .where("identity.application_id", "=", identity.applicationId)
    .where("identity.provider", "=", identity.provider)
    .where("identity.identifier", "=", identity.identifier)
    .where("identity.is_verified", "=", 1)
    .where("user.deleted_at", "is", null)
    .executeTakeFirst();
}

/**
 * Gives an identity to the user who proved it, and takes it from the user who claimed it.
 *
 * @returns the id of the user who loses it
 */
export async function putProvenIdentity(
  { applicationId, provider, identifier }: ProvenIdentity,
  userId: string,
  at: number,
  queries: Queries,
): Promise<string | undefined> {
  const former = await queries
    .selectFrom("identities")
    .select("user_id")
    .where("application_id", "=", applicationId)
    .where("provider", "=", provider)
    .where("identifier", "=", identifier)
    .executeTakeFirst();
  const held = { user_id: userId, created_at: at, is_verified: 1 };
  await queries
    .insertInto("identities")
    .values({ application_id: applicationId, provider, identifier, ...held })
    .onConflict((conflict) => conflict.columns(["application_id", "provider", "identifier"]).doUpdateSet(held))
    .execute();
  return former?.user_id;
}
