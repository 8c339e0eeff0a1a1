import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { equals, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { type Scope, scopeStream } from "../db/search/scope.ts";
import type { Stream } from "../db/search/stream.ts";
import type { IdentityRow, NewIdentityRow } from "../db/tables.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { Page, Position } from "../lib/keyset.ts";

/**
 * Attaches an identity to a user; repeating this changes nothing. An identity of a user who is being deleted is
 * available before it is erased.
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
        // A no-op update, which makes the statement return the row when it belongs to the same user.
        .doUpdateSet((excluded) => ({ user_id: excluded.ref("excluded.user_id") }))
        .whereRef("identities.user_id", "=", "excluded.user_id"),
    )
    .returning("user_id")
    .executeTakeFirst();
  return held !== undefined;
}

/** @returns false unless the identity's holder is being deleted */
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
          .where("holder.application_id", "=", identity.application_id)
          .whereRef("holder.id", "=", "identities.user_id")
          .where("holder.deleted_at", "is not", null),
      ),
    )
    .executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

/** Removes one identity of a provider, or all of them. @returns false when there was none */
export async function deleteIdentities(
  applicationId: string,
  userId: string,
  provider: string,
  identifier: string | undefined,
  queries: Queries,
): Promise<boolean> {
  let doomed = queries
    .deleteFrom("identities")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("provider", "=", provider);
  if (identifier !== undefined) doomed = doomed.where("identifier", "=", identifier);
  const { numDeletedRows } = await doomed.executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Finds the user who holds an identity, unless hidden from this reader: other users in celebMode and users being
 * deleted.
 */
export async function findIdentityUser(
  applicationId: string,
  readerId: string,
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
    .where(({ or, eb }) => or([eb("holder.celeb_mode", "=", 0), eb("holder.id", "=", readerId)]))
    .executeTakeFirst();
  return row?.id;
}

/** Lists a page of the user's identities, newest first, of one provider or of all. */
export function listIdentities(
  applicationId: string,
  userId: string,
  provider: string | undefined,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<IdentityRow>> {
  return readPage(identitiesStream(applicationId, userId, provider, queries), position, size, work);
}

/** Streams the user's identities, newest first, of one provider or of all. */
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
