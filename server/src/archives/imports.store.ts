import type { Queries } from "../db/database.ts";
import { newRevision } from "../tenancy/revision.ts";

/**
 * An application that is being imported is marked as deleted, so that it is invisible, and the importer renews a lease on
 * it. When the lease expires, maintenance erases it like any deleted application. The time of the mark identifies the
 * import, so that an import that lost its lease cannot write into a later import of the same application.
 */
const leaseMs = 300_000;

export interface Import {
  readonly applicationId: string;
  readonly begunAt: number;
}

/** Renews the lease. @throws Error if the lease was lost */
export async function renewImport({ applicationId, begunAt }: Import, now: number, queries: Queries): Promise<void> {
  const renewed = await queries
    .updateTable("applications")
    .set({ importing_until: now + leaseMs })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "=", begunAt)
    .where("importing_until", "is not", null)
    .executeTakeFirst();
  if (renewed.numUpdatedRows !== 1n) throw new Error(`The import of ${applicationId} was ended by another process`);
}

/** The columns that hide an application until its import is complete. */
export function hiddenColumns(begunAt: number) {
  return { deleted_at: begunAt, importing_until: begunAt + leaseMs, moving_to: null };
}

/** Makes the application visible. @throws Error if the lease was lost */
export async function showImported({ applicationId, begunAt }: Import, queries: Queries): Promise<void> {
  const shown = await queries
    .updateTable("applications")
    .set({ deleted_at: null, importing_until: null, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "=", begunAt)
    .where("importing_until", "is not", null)
    .executeTakeFirst();
  if (shown.numUpdatedRows !== 1n) throw new Error(`The import of ${applicationId} was ended by another process`);
}

/**
 * Abandons an import, so that maintenance erases its data.
 * @returns false if the application is not being imported
 */
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

/** Finds the state of an application, visible or not. */
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

/** Restores a user's unfinished background work, which was hidden from maintenance during the import. */
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
