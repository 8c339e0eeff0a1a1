import { sql } from "kysely";
import { equals, type Order } from "../db/conditions.ts";
import type { Queries } from "../db/database.ts";
import { readPage } from "../db/page.ts";
import { type Scope, scopeStream } from "../db/scope.ts";
import type { Stream } from "../db/stream.ts";
import type { IdentityRow, NewIdentityRow } from "../db/tables.ts";
import type { Page, Position } from "../lib/keyset.ts";

/**
 * Attaches an identity to a user; to the same user again changes nothing. What a user who is being deleted held is free
 * before it has been erased.
 *
 * @returns false when another user of the application holds it
 */
export async function insertIdentity(row: NewIdentityRow, queries: Queries): Promise<boolean> {
  if (await insertUnlessHeld(row, queries)) return true;
  return (await deleteLeftIdentity(row, queries)) && (await insertUnlessHeld(row, queries));
}

async function insertUnlessHeld(row: NewIdentityRow, queries: Queries): Promise<boolean> {
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

/** @returns false unless a user who is being deleted held it */
async function deleteLeftIdentity(identity: NewIdentityRow, queries: Queries): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("identities")
    .where("application_id", "=", identity.application_id)
    .where("provider", "=", identity.provider)
    .where("identifier", "=", identity.identifier)
    .where((row) =>
      row.exists(
        row
          .selectFrom("users as holder")
          .select("holder.id")
          .whereRef("holder.application_id", "=", "identities.application_id")
          .whereRef("holder.id", "=", "identities.user_id")
          .where("holder.deleted_at", "is not", null),
      ),
    )
    .executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

/** Takes a user's identities of a provider away, one of them or all. */
export async function deleteIdentities(
  applicationId: string,
  userId: string,
  provider: string,
  identifier: string | undefined,
  queries: Queries,
): Promise<void> {
  let doomed = queries
    .deleteFrom("identities")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("provider", "=", provider);
  if (identifier !== undefined) doomed = doomed.where("identifier", "=", identifier);
  await doomed.execute();
}

/** The user that holds an identity, unless that user is being deleted. */
export async function findIdentityUser(
  applicationId: string,
  provider: string,
  identifier: string,
  queries: Queries,
): Promise<string | undefined> {
  const row = await queries
    .selectFrom("identities as identity")
    .innerJoin("users as holder", (join) =>
      join.onRef("holder.application_id", "=", "identity.application_id").onRef("holder.id", "=", "identity.user_id"),
    )
    .select("holder.id")
    .where("identity.application_id", "=", applicationId)
    .where("identity.provider", "=", provider)
    .where("identity.identifier", "=", identifier)
    .where("holder.deleted_at", "is", null)
    .executeTakeFirst();
  return row?.id;
}

/** A page of the user's identities, newest first; of one provider, or of all. */
export function listIdentities(
  applicationId: string,
  userId: string,
  provider: string | undefined,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<IdentityRow>> {
  return readPage(identitiesStream(applicationId, userId, provider, queries), position, size);
}

/** The user's identities, newest first; of one provider, or of all. */
export function identitiesStream(
  applicationId: string,
  userId: string,
  provider: string | undefined,
  queries: Queries,
): Stream<IdentityRow> {
  const scope: Scope = {
    shape: "identities",
    from: sql`identities`,
    select: sql`identities.*`,
    conditions: [
      equals("application_id", applicationId),
      equals("user_id", userId),
      ...(provider === undefined ? [] : [equals("provider", provider)]),
    ],
  };
  return scopeStream(scope, byCreation, true, queries);
}

const byCreation: Order<IdentityRow> = {
  shape: "creation",
  columns: [sql.ref("created_at"), sql.ref("provider"), sql.ref("identifier")],
  keyOf: ({ created_at, provider, identifier }) => [created_at, provider, identifier],
};
