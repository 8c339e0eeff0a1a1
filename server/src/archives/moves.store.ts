import type { Queries } from "../db/database.ts";
import { putApplicationRegion } from "../regions/regions.directory.store.ts";
import { newRevision } from "../tenancy/revision.ts";

/** The columns that determine whether an application is served here. */
export interface Presence {
  readonly deleted_at: number | null;
  readonly moving_to: string | null;
}

export function findPresence(applicationId: string, queries: Queries): Promise<Presence | undefined> {
  return queries
    .selectFrom("applications")
    .select(["deleted_at", "moving_to"])
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
}

/** Whether the application is served here: complete, not deleted and not moving. */
export function isServed(here: Presence | undefined): boolean {
  return here?.deleted_at === null && here.moving_to === null;
}

/** Stops serving the application. @returns false if it does not exist, or moves to another region */
export async function markMoving(applicationId: string, to: string, queries: Queries): Promise<boolean> {
  const marked = await queries
    .updateTable("applications")
    .set({ moving_to: to, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .where((is) => is.or([is("moving_to", "is", null), is("moving_to", "=", to)]))
    .executeTakeFirst();
  return marked.numUpdatedRows === 1n;
}

/** Serves the application again after a cancelled move. */
export async function unmarkMoving(applicationId: string, queries: Queries): Promise<void> {
  await queries
    .updateTable("applications")
    .set({ moving_to: null, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .execute();
}

/**
 * Records that the other region has the complete application, so that the move can no longer be reverted.
 *
 * @returns false if the application was deleted or served again, so that it may differ from the sent archive
 */
export async function decideMove(applicationId: string, to: string, at: number, queries: Queries): Promise<boolean> {
  const decided = await queries
    .updateTable("applications")
    .set({ moving_to: to, revision: newRevision() })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .where("moving_to", "=", to)
    .executeTakeFirst();
  if (decided.numUpdatedRows !== 1n) return false;
  const row = { application_id: applicationId, region: to, state: "handing over", changed_at: at } as const;
  await putApplicationRegion(row, queries);
  return true;
}

/**
 * Starts to serve an application that has arrived. Tokens that were issued here before an earlier move stay revoked.
 *
 * @returns false if it has not arrived
 */
export async function serveArrived(applicationId: string, own: string, queries: Queries): Promise<boolean> {
  const opened = await queries
    .updateTable("applications")
    .set((row) => ({ moving_to: null, token_version: row("token_version", "+", 1), revision: newRevision() }))
    .where("application_id", "=", applicationId)
    .where("moving_to", "=", own)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return opened.numUpdatedRows === 1n;
}

/** Lists the applications that have arrived here and are not served yet. */
export async function listArrived(own: string, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("applications")
    .select("application_id")
    .where("moving_to", "=", own)
    .where("deleted_at", "is", null)
    .execute();
  return rows.map(({ application_id }) => application_id);
}

/** Marks an application that has arrived but is not served yet as deleted. @returns false if there is none */
export async function dropArrived(applicationId: string, own: string, at: number, queries: Queries): Promise<boolean> {
  const dropped = await queries
    .updateTable("applications")
    .set({ deleted_at: at, moving_to: null })
    .where("application_id", "=", applicationId)
    .where("moving_to", "=", own)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return dropped.numUpdatedRows === 1n;
}
