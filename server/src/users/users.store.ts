import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { UserRow } from "../db/tables.ts";

/** @returns false when the name is taken */
export async function insertUser(row: UserRow, queries: Queries): Promise<boolean> {
  const inserted = await queries
    .insertInto("users")
    .values(row)
    .onConflict((conflict) => conflict.columns(["application_id", "user_name_key"]).doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

export async function findUser(applicationId: string, id: string, queries: Queries): Promise<UserRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  return row;
}

/** A user whose profile this reader may see: oneself, or somebody without celebMode. */
export async function findShownUser(
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<UserRow | undefined> {
  const user = await findUser(applicationId, id, queries);
  return user?.id === readerId || user?.celeb_mode === 0 ? user : undefined;
}

export async function findUserByName(
  applicationId: string,
  userNameKey: string,
  queries: Queries,
): Promise<UserRow | undefined> {
  const [row] = await findByName(queries, { applicationId, userNameKey });
  return row;
}

/**
 * Records a login, and with it a hash of today's costs in place of the one that was checked, unless the password has
 * been changed meanwhile.
 *
 * @returns undefined when the user has been deleted since the check
 */
export async function updateUserLogin(
  applicationId: string,
  login: { userId: string; at: number; rehash?: { from: string; to: string } },
  queries: Queries,
): Promise<UserRow | undefined> {
  const { rehash } = login;
  return queries
    .updateTable("users")
    .set({
      last_login_at: login.at,
      ...(rehash !== undefined && {
        password_hash: sql<string>`case when password_hash = ${rehash.from} then ${rehash.to} else password_hash end`,
      }),
    })
    .where("application_id", "=", applicationId)
    .where("id", "=", login.userId)
    .where("deleted_at", "is", null)
    .returningAll()
    .executeTakeFirst();
}

/** @throws a unique violation when the name is taken: see `isUniqueViolation` */
export async function updateUser(
  applicationId: string,
  id: string,
  changed: Partial<Omit<UserRow, "application_id" | "id">>,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("users")
    .set(changed)
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

const findById = prepare<{ applicationId: string; id: string }, UserRow>((queries, parameter) =>
  queries
    .selectFrom("users")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where("deleted_at", "is", null),
);

const findByName = prepare<{ applicationId: string; userNameKey: string }, UserRow>((queries, parameter) =>
  queries
    .selectFrom("users")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("user_name_key", "=", parameter("userNameKey")),
);
