import type { Queries } from "../db/database.ts";
import { putApplicationRegion } from "../regions/regions.directory.store.ts";

/** What of an application tells whether it is served here. */
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

/** Whether that is here, all of it, and nowhere else. */
export function isServed(here: Presence | undefined): boolean {
  return here?.deleted_at === null && here.moving_to === null;
}

/** From now on nothing is served of it. @returns false when there is none, or it moves elsewhere */
export async function markMoving(applicationId: string, to: string, queries: Queries): Promise<boolean> {
  const marked = await queries
    .updateTable("applications")
    .set({ moving_to: to })
    .where("application_id", "=", applicationId)
    .where("deleted_at", "is", null)
    .where((is) => is.or([is("moving_to", "is", null), is("moving_to", "=", to)]))
    .executeTakeFirst();
  return marked.numUpdatedRows === 1n;
}

/** It stays, and is served again. */
export async function unmarkMoving(applicationId: string, queries: Queries): Promise<void> {
  await queries
    .updateTable("applications")
    .set({ moving_to: null })
    .where("application_id", "=", applicationId)
    .execute();
}

/**
 * The other region has all of it: from here on there is no way back.
 *
 * @returns false when it has been deleted meanwhile, or served again, so that it is not as it was sent
 */
export async function decideMove(applicationId: string, to: string, at: number, queries: Queries): Promise<boolean> {
  const decided = await queries
    .updateTable("applications")
    .set({ moving_to: to })
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
 * What has arrived here is served from now on. Tokens that it had here, before it once moved away, stay dead.
 *
 * @returns false when nothing has arrived
 */
export async function openArrived(applicationId: string, own: string, queries: Queries): Promise<boolean> {
  const opened = await queries
    .updateTable("applications")
    .set((row) => ({ moving_to: null, token_version: row("token_version", "+", 1) }))
    .where("application_id", "=", applicationId)
    .where("moving_to", "=", own)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return opened.numUpdatedRows === 1n;
}

/** What has arrived here, and is not served yet. */
export async function listArrived(own: string, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("applications")
    .select("application_id")
    .where("moving_to", "=", own)
    .where("deleted_at", "is", null)
    .execute();
  return rows.map(({ application_id }) => application_id);
}

/** What has arrived here, and is not served yet, is dropped. @returns false when nothing has arrived */
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
