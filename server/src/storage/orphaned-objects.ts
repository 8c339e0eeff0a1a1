import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { ApiError } from "../lib/errors.ts";
import type { ByteStore } from "./byte-store.ts";

/**
 * Orphaned objects: bytes without a file, of a running upload or to be erased. Their row is committed before the first
 * byte is written, and is deleted by the transaction that inserts the file; the transaction that deletes the file
 * inserts it again. So whenever a process is killed, every stored object has a row in one of the two tables.
 */
const uploadMs = 3_600_000;
/** Marks objects for immediate erasure: no file can claim them any more. */
const isErased = 0;
const keysPerRound = 100;

/** The prefix of all objects of a file. */
export function filePrefix(applicationId: string, fileId: string): string {
  return `${applicationId}/${fileId}/`;
}

/**
 * Records that objects are being written. Must be repeated during the write, because an upload without an update for an
 * hour is abandoned.
 *
 * @returns false if another writer uses the key, or the objects are being erased
 */
export async function putOrphans(applicationId: string, key: string, now: number, queries: Queries): Promise<boolean> {
  const put = await queries
    .insertInto("loose_bytes")
    .values({ application_id: applicationId, key, loose_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return put.numInsertedOrUpdatedRows === 1n;
}

/** @returns false if the upload was abandoned */
export async function touchOrphans(
  applicationId: string,
  key: string,
  now: number,
  queries: Queries,
): Promise<boolean> {
  const touched = await queries
    .updateTable("loose_bytes")
    .set({ loose_at: now })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("loose_at", ">", isErased)
    .executeTakeFirst();
  return touched.numUpdatedRows === 1n;
}

/**
 * Must run in the transaction that inserts the file or checks that it exists.
 * @returns false if the upload was abandoned
 */
export async function claimOrphans(applicationId: string, key: string, queries: Queries): Promise<boolean> {
  const taken = await queries
    .deleteFrom("loose_bytes")
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("loose_at", ">", isErased)
    .executeTakeFirst();
  return taken.numDeletedRows === 1n;
}

/** Must run in the transaction that deletes the files. */
export async function markForErasure(applicationId: string, keys: readonly string[], queries: Queries): Promise<void> {
  if (keys.length === 0) return;
  await queries
    .insertInto("loose_bytes")
    .values(keys.map((key) => ({ application_id: applicationId, key, loose_at: isErased })))
    .execute();
}

/**
 * Erases these objects if they are still orphaned. Marks them first, so that no file can claim them afterwards.
 *
 * @returns false if they have no row
 */
export async function eraseOrphans(
  applicationId: string,
  key: string,
  orphanedUntil: number,
  { database, bytes }: { readonly database: Database; readonly bytes: ByteStore },
): Promise<boolean> {
  const isOurs = await database.write(async ({ queries }) => {
    const claimed = await queries
      .updateTable("loose_bytes")
      .set({ loose_at: isErased })
      .where("application_id", "=", applicationId)
      .where("key", "=", key)
      .where("loose_at", "<=", orphanedUntil)
      .executeTakeFirst();
    return claimed.numUpdatedRows === 1n;
  });
  if (!isOurs) return false;
  await bytes.deleteAll(key);
  await database.write(({ queries }) =>
    queries.deleteFrom("loose_bytes").where("application_id", "=", applicationId).where("key", "=", key).execute(),
  );
  return true;
}

/**
 * Erases all objects of a file that cannot be completed, even if their row is gone, because the application was deleted
 * or the upload was abandoned. Skips objects that a file or another upload refers to.
 */
export async function eraseUnreferencedObjects(
  applicationId: string,
  fileId: string,
  { database, bytes }: { readonly database: Database; readonly bytes: ByteStore },
): Promise<void> {
  const kind = await database.write(({ queries }) => findReference(applicationId, fileId, queries));
  if (kind === undefined) await bytes.deleteAll(filePrefix(applicationId, fileId));
}

/**
 * Finds the rows that refer to the objects. A single statement, because an upload becomes a file in one transaction.
 */
export async function findReference(
  applicationId: string,
  fileId: string,
  queries: Queries,
): Promise<"file" | "upload" | undefined> {
  const { rows } = await sql<{ kind: "file" | "upload" }>`
    select 'file' as kind from files where application_id = ${applicationId} and id = ${fileId}
    union all
    select 'upload' as kind from resumable_uploads where application_id = ${applicationId} and id = ${fileId}`.execute(
    queries,
  );
  return rows[0]?.kind;
}

/**
 * Erases the orphaned objects of all applications that are marked for erasure or were left by abandoned uploads. An
 * object that the store refuses to delete does not keep others from being deleted.
 */
export async function eraseOldOrphans(
  now: number,
  services: { readonly database: Database; readonly bytes: ByteStore },
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const failures: unknown[] = [];
    signal?.throwIfAborted();
    const old = await services.database.reads
      .selectFrom("loose_bytes")
      .select(["application_id", "key"])
      .where("loose_at", "<=", now - uploadMs)
      .orderBy("loose_at")
      .limit(keysPerRound)
      .execute();
    for (const { application_id, key } of old) {
      signal?.throwIfAborted();
      await eraseOrphans(application_id, key, now - uploadMs, services).catch((error) => {
        if (error instanceof ApiError) throw error; // the store is unreachable
        failures.push(error);
      });
    }
    if (old.length === keysPerRound && failures.length < keysPerRound) continue;
    if (failures.length > 0) throw failures[0];
    return;
  }
}
