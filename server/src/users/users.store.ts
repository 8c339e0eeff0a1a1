import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare, prepareLookup } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import type { UserRow } from "../db/tables.ts";
import { formerUserNameKey, userNameKey } from "../lib/user-name-keys.ts";

/** Returns a new user with default settings, an empty profile and the given columns. */
export function newUserRow(
  user: Pick<UserRow, "application_id" | "id" | "user_name" | "user_name_key" | "password_hash" | "created_at"> &
    Partial<UserRow>,
): UserRow {
  return {
    email: null,
    first_name: null,
    last_name: null,
    gender: null,
    date_of_birth: null,
    tag: null,
    profile_picture_id: null,
    is_picture_shared: 0,
    lat: null,
    lng: null,
    cell: null,
    seen_lat: null,
    seen_lng: null,
    seen_cell: null,
    celeb_mode: 0,
    location_fuzzing: 0,
    shift_generation: 0,
    is_reshifting: 0,
    token_version: 0,
    last_login_at: user.created_at,
    modified_at: user.created_at,
    deleted_at: null,
    disabled_at: null,
    held_email: null,
    held_until: null,
    email_changed_at: null,
    verified_email_key: null,
    held_email_key: null,
    language: null,
    ...user,
  };
}

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

/** The columns of a profile, and those that determine its visibility. */
const profileColumns = [
  ...(["application_id", "id", "user_name", "first_name", "last_name", "email", "gender", "date_of_birth"] as const),
  ...([
    "verified_email_key",
    "language",
    "tag",
    "lat",
    "lng",
    "seen_lat",
    "seen_lng",
    "profile_picture_id",
    "is_picture_shared",
  ] as const),
  ...(["celeb_mode", "location_fuzzing", "last_login_at", "created_at", "modified_at"] as const),
] satisfies (keyof UserRow)[];

export type ProfileRow = Pick<UserRow, (typeof profileColumns)[number]>;

export async function findProfile(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<ProfileRow | undefined> {
  const [row] = await findProfileById(queries, { applicationId, id });
  return row;
}

/** Finds a user whose profile this reader may see: the reader, or another user without celebMode. */
export async function findShownUser(
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<ProfileRow | undefined> {
  const user = await findProfile(applicationId, id, queries);
  return user?.id === readerId || user?.celeb_mode === 0 ? user : undefined;
}

/** Finds the user with exactly this name, otherwise the user whose name looks alike. */
export async function findUserByName(
  applicationId: string,
  userName: string,
  queries: Queries,
): Promise<UserRow | undefined> {
  const key = userNameKey(userName);
  const former = formerUserNameKey(userName);
  const [exact] = former === key ? [] : await findByName(queries, { applicationId, userNameKey: former });
  if (exact !== undefined) return exact;
  const [row] = await findByName(queries, { applicationId, userNameKey: key });
  return row;
}

/**
 * Like {@link findUserByName}, with the time of the user's last sign-in from this device; null for an unrecognized
 * device.
 */
export async function findUserForLogin(
  applicationId: string,
  userName: string,
  deviceId: string,
  queries: Queries,
): Promise<LoginRow | undefined> {
  const key = userNameKey(userName);
  const former = formerUserNameKey(userName);
  const given = { applicationId, deviceId };
  const [exact] = former === key ? [] : await findForLogin(queries, { ...given, key: former });
  if (exact !== undefined) return exact;
  const [row] = await findForLogin(queries, { ...given, key });
  return row;
}

/**
 * Like {@link findUserForLogin}, for users who have verified the address of this key: at most one has it, and any number
 * had it until a change that does not hold yet.
 */
export async function listUsersForLoginByAddress(
  applicationId: string,
  key: string,
  deviceId: string,
  queries: Queries,
): Promise<LoginRow[]> {
  const given = { applicationId, deviceId, key };
  const present = await findForLoginByAddress(queries, given);
  return [...present, ...(await findForLoginByHeldAddress(queries, given))];
}

/**
 * Records a login, and replaces an outdated hash unless a concurrent request changed the password.
 *
 * @returns undefined when the user was deleted since the check
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

/**
 * Lists, in all applications, deleted users with rows left and users whose fuzzed locations lag behind their setting.
 */
export function listUnfinishedUsers(count: number, queries: Queries): Promise<UnfinishedUser[]> {
  return listUnfinished(queries, { count });
}

/** Lists deleted users of an application with rows left. */
export async function listErasedUsers(
  applicationId: string,
  count: number,
  queries: Queries,
): Promise<{ readonly id: string; readonly deleted_at: number }[]> {
  const rows = await listErased(queries, { applicationId, count });
  return rows.flatMap(({ id, deleted_at }) => (deleted_at === null ? [] : [{ id, deleted_at }]));
}

const listErased = prepare<{ applicationId: string; count: number }, Pick<UserRow, "id" | "deleted_at">>(
  (queries, parameter) =>
    queries
      .selectFrom("users")
      .select(["id", "deleted_at"])
      .where("application_id", "=", parameter("applicationId"))
      .where("deleted_at", "is not", null)
      .orderBy("deleted_at")
      .orderBy("id")
      .limit(rowLimit(parameter("count"))),
);

type UnfinishedUser = Pick<UserRow, "application_id" | "id" | "deleted_at">;

const listUnfinished = prepare<{ count: number }, UnfinishedUser>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select(["application_id", "id", "deleted_at"])
    // A literal 1, as in the index: SQLite would not use the partial index with a bound value.
    .where(sql<boolean>`deleted_at is not null or is_reshifting = 1`)
    .limit(rowLimit(parameter("count"))),
);

const findProfileById = prepareLookup<{ applicationId: string; id: string }, ProfileRow>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select(profileColumns)
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where("deleted_at", "is", null),
);

const findById = prepareLookup<{ applicationId: string; id: string }, UserRow>((queries, parameter) =>
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

/** A user with the time of the last sign-in from a device. */
export type LoginRow = UserRow & { readonly recognized_at: number | null };

const findForLogin = prepareForLogin("user_name_key");
const findForLoginByAddress = prepareForLogin("verified_email_key");
const findForLoginByHeldAddress = prepareForLogin("held_email_key");

function prepareForLogin(column: "user_name_key" | "verified_email_key" | "held_email_key") {
  return prepare<{ applicationId: string; key: string; deviceId: string }, LoginRow>((queries, parameter) =>
    queries
      .selectFrom("users as user")
      .leftJoin("recognized_devices as recognized", (join) =>
        join
          .onRef("recognized.application_id", "=", "user.application_id")
          .onRef("recognized.user_id", "=", "user.id")
          .on("recognized.device_id", "=", parameter("deviceId")),
      )
      .selectAll("user")
      .select("recognized.recognized_at")
      .where("user.application_id", "=", parameter("applicationId"))
      .where(`user.${column}`, "=", parameter("key")),
  );
}
