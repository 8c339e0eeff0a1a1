import type { Queries } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { findLive } from "../owned/store.ts";

/** Returns which of these owners have locationFuzzing. Deleted owners are included. */
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

/** Finds a file that is not being deleted, regardless of permissions. */
export function findLiveFile(applicationId: string, id: string, queries: Queries): Promise<FileRow | undefined> {
  return findLive<FileRow>("files", applicationId, id, queries);
}
