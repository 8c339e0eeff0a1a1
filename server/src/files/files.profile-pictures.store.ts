import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { FileRow, UserRow } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";

/**
 * The user's row names the picture. A transaction that writes both locks the user first, as for metadata of a picture,
 * to prevent deadlocks.
 */

/** Finds the profile picture of a user who is not being deleted. */
export async function findProfilePicture(
  applicationId: string,
  userId: string,
  queries: Queries,
): Promise<FileRow | undefined> {
  const [row] = await findByUser(queries, { applicationId, userId });
  return row;
}

/**
 * Locks the profile picture against other changes until the transaction commits. Rows that refer to the user can still
 * be written.
 *
 * @returns the current picture, if any; undefined when the user has been deleted
 */
export async function lockProfilePicture(
  applicationId: string,
  userId: string,
  queries: Queries,
): Promise<{ readonly picture: FileRow | undefined } | undefined> {
  const user = await queries
    .updateTable("users")
    .set((each) => ({ profile_picture_id: each.ref("profile_picture_id") }))
    .where("application_id", "=", applicationId)
    .where("id", "=", userId)
    .where("deleted_at", "is", null)
    .returning("id")
    .executeTakeFirst();
  return user && { picture: await findProfilePicture(applicationId, userId, queries) };
}

/** The user whose row changed, if any. */
type ChangedOwner = Pick<UserRow, "id" | "celeb_mode"> | undefined;

/** Makes a new shared picture the profile picture of its owner. */
export async function setProfilePicture(
  { application_id, user_id, id }: Pick<FileRow, "application_id" | "user_id" | "id">,
  at: number,
  queries: Queries,
): Promise<ChangedOwner> {
  return queries
    .updateTable("users")
    .set({ profile_picture_id: id, is_picture_shared: 1, modified_at: at })
    .where("application_id", "=", application_id)
    .where("id", "=", user_id)
    .returning(["id", "celeb_mode"])
    .executeTakeFirst();
}

/** Removes a picture that is being deleted from its owner's profile, if it is the profile picture. */
export async function unsetProfilePicture(
  applicationId: string,
  { id, user_id }: { readonly id: string; readonly user_id: string },
  at: number,
  queries: Queries,
): Promise<ChangedOwner> {
  return queries
    .updateTable("users")
    .set({ profile_picture_id: null, is_picture_shared: 0, modified_at: at })
    .where("application_id", "=", applicationId)
    .where("id", "=", user_id)
    .where("profile_picture_id", "=", id)
    .returning(["id", "celeb_mode"])
    .executeTakeFirst();
}

/** Updates `is_picture_shared` after a change of the picture's permissions, if it is the profile picture. */
export async function updatePictureShared(
  applicationId: string,
  userId: string,
  pictureId: string,
  isShared: boolean,
  queries: Queries,
): Promise<ChangedOwner> {
  return queries
    .updateTable("users")
    .set({ is_picture_shared: isShared ? 1 : 0 })
    .where("is_picture_shared", "=", isShared ? 0 : 1)
    .where("application_id", "=", applicationId)
    .where("id", "=", userId)
    .where("profile_picture_id", "=", pictureId)
    .returning(["id", "celeb_mode"])
    .executeTakeFirst();
}

/**
 * Finds the profile picture that other users of the application see: the profile is visible to them and the picture is
 * shared.
 */
export async function findShownProfilePicture(
  applicationId: string,
  userId: string,
  queries: Queries,
): Promise<FileRow | undefined> {
  const [row] = await findShownByUser(queries, { applicationId, userId });
  return row;
}

/** Whether other users see this user. */
export async function isUserShown(applicationId: string, userId: string, queries: Queries): Promise<boolean> {
  return (await findShown(queries, { applicationId, userId })).length > 0;
}

interface ByUser {
  readonly applicationId: string;
  readonly userId: string;
}

const pictureOfUser = (queries: Queries) =>
  queries
    .selectFrom("users")
    .innerJoin("files", (join) =>
      join
        .onRef("files.application_id", "=", "users.application_id")
        .onRef("files.id", "=", "users.profile_picture_id"),
    )
    .selectAll("files")
    .where("users.deleted_at", "is", null);

const findByUser = prepare<ByUser, FileRow>((queries, parameter) =>
  pictureOfUser(queries)
    .where("users.application_id", "=", parameter("applicationId"))
    .where("users.id", "=", parameter("userId")),
);

const findShownByUser = prepare<ByUser, FileRow>((queries, parameter) =>
  pictureOfUser(queries)
    .where("users.application_id", "=", parameter("applicationId"))
    .where("users.id", "=", parameter("userId"))
    .where(sql<boolean>`users.celeb_mode = 0 and users.is_picture_shared = 1`),
);

const findShown = prepare<ByUser, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("userId"))
    .where(sql<boolean>`celeb_mode = 0 and deleted_at is null`),
);

/** The user whose profile picture changed. */
interface PictureOwner {
  readonly id: string;
  readonly celeb_mode: number;
}

/** Records that a profile shows another picture, or none. */
export async function recordPictureChange(
  applicationId: string,
  owner: PictureOwner | undefined,
  events: EventRecorder,
  queries: Queries,
): Promise<void> {
  if (owner === undefined) return; // it was not a profile picture
  const isShown = owner.celeb_mode === 0;
  const changed = ["profilePictureID", "profilePictureUrl"];
  const about = { type: "user.changed", objectId: owner.id, userId: owner.id } as const;
  await events.record(applicationId, { ...about, changed, wasShown: isShown, isShown }, queries);
}
