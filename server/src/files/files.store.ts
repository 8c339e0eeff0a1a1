import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { FileRow } from "../db/tables.ts";
import { isShownToOthers } from "../privacy/visibility.ts";

export async function insertFile(row: FileRow, queries: Queries): Promise<void> {
  await queries.insertInto("files").values(row).execute();
}

/** A file that this user may read: the user's own, or a shared one. */
export async function findFile(
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<FileRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  if (row === undefined || row.user_id === readerId) return row;
  return row.read_permission === 1 && (await isShown(row, queries)) ? row : undefined;
}

/** A file that is not being deleted, regardless of permissions. */
export async function findLiveFile(applicationId: string, id: string, queries: Queries): Promise<FileRow | undefined> {
  const [row] = await findLive(queries, { applicationId, id });
  return row;
}

/** The owners among these that have locationFuzzing; deleted owners count as well. */
export async function findFuzzedOwners(
  applicationId: string,
  userIds: readonly string[],
  queries: Queries,
): Promise<ReadonlySet<string>> {
  const owners = new Set(userIds);
  if (owners.size === 0) return owners;
  const open = await queries
    .selectFrom("users")
    .select("id")
    .where("application_id", "=", applicationId)
    .where("id", "in", [...owners])
    .where("location_fuzzing", "=", 0)
    .execute();
  for (const { id } of open) owners.delete(id);
  return owners;
}

/** Stores the current fields of a file. */
export async function updateFile(row: FileRow, queries: Queries): Promise<void> {
  const { application_id, id, ...changed } = row;
  await queries
    .updateTable("files")
    .set(changed)
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .execute();
}

/** @returns false when it was already gone */
export async function deleteFile(applicationId: string, id: string, queries: Queries): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("files")
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}

async function isShown({ application_id, id }: FileRow, queries: Queries): Promise<boolean> {
  return (await findShown(queries, { applicationId: application_id, id })).length > 0;
}

const findShown = prepare<{ applicationId: string; id: string }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("files")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where(isShownToOthers("files")),
);

const findById = prepare<{ applicationId: string; id: string }, FileRow>((queries, parameter) =>
  queries
    .selectFrom("files")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

const findLive = prepare<{ applicationId: string; id: string }, FileRow>((queries, parameter) =>
  queries
    .selectFrom("files")
    .innerJoin("applications", "applications.application_id", "files.application_id")
    .innerJoin("users", (join) =>
      join.onRef("users.application_id", "=", "files.application_id").onRef("users.id", "=", "files.user_id"),
    )
    .selectAll("files")
    .where("files.application_id", "=", parameter("applicationId"))
    .where("files.id", "=", parameter("id"))
    .where("applications.deleted_at", "is", null)
    .where("users.deleted_at", "is", null),
);
