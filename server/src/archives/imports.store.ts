import type { Queries } from "../db/database.ts";

/**
 * An application that is being imported is marked as deleted, so that for everybody else it is not there, and has a time
 * until which whoever imports it is at it. Past that time it is what it is marked as: maintenance erases it. When it was marked
 * tells imports of the same application apart: one that was out for so long has no part in the next one.
 */
const leaseMs = 300_000;

export interface Import {
  readonly applicationId: string;
  readonly begunAt: number;
}

/** Moves the time on. @throws Error when somebody has ended the import */
export async function renewImport({ applicationId, begunAt }: Import, now: number, queries: Queries): Promise<void> {
  const renewed = await queries
    .updateTable("applications")
    .set({ importing_until: now + leaseMs })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "=", begunAt)
    .where("importing_until", "is not", null)
    .executeTakeFirst();
  if (renewed.numUpdatedRows !== 1n) throw new Error(`The import of ${applicationId} was ended by somebody else`);
}

/** The columns of an application that is not to be seen yet. */
export function hiddenColumns(begunAt: number) {
  return { deleted_at: begunAt, importing_until: begunAt + leaseMs, moving_to: null };
}

/** Shows the application: from now on it is served. @throws Error when somebody has ended the import */
export async function showImported({ applicationId, begunAt }: Import, queries: Queries): Promise<void> {
  const shown = await queries
    .updateTable("applications")
    .set({ deleted_at: null, importing_until: null })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "=", begunAt)
    .where("importing_until", "is not", null)
    .executeTakeFirst();
  if (shown.numUpdatedRows !== 1n) throw new Error(`The import of ${applicationId} was ended by somebody else`);
}

/** Gives it up: maintenance erases what there is, if nobody does before. @returns false when it is not being imported */
export async function giveUpImport({ applicationId, begunAt }: Import, queries: Queries): Promise<boolean> {
  const given = await queries
    .updateTable("applications")
    .set({ importing_until: null })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "=", begunAt)
    .where("importing_until", "is not", null)
    .executeTakeFirst();
  return given.numUpdatedRows === 1n;
}

/** What is known of an application of this id, whoever sees it. */
export async function findAnyApplication(
  applicationId: string,
  queries: Queries,
): Promise<{ deleted_at: number | null; importing_until: number | null } | undefined> {
  return queries
    .selectFrom("applications")
    .select(["deleted_at", "importing_until"])
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
}

/** Says of users what maintenance would have taken up while they were being imported. */
export async function updateUserUnfinished(
  applicationId: string,
  id: string,
  unfinished: { readonly deleted_at: number | null; readonly is_reshifting: number },
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("users")
    .set(unfinished)
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}
