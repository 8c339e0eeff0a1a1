import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { ByteStore } from "./byte-store.ts";

/**
 * Bytes that belong to no file: being written, or to be erased. A row is on disk before the first byte is, and goes in the
 * transaction that inserts the file; it comes back in the one that deletes the file. So whatever is killed when, what is in
 * the store is in one of the two tables.
 */
const uploadMs = 3_600_000;
/** Erased at once: nothing takes it back. */
const isErased = 0;
const keysPerRound = 100;

/** Under this all objects of a file lie, and nothing else. */
export function filePrefix(applicationId: string, fileId: string): string {
  return `${applicationId}/${fileId}/`;
}

/**
 * Says that bytes are being written; also while they are, since what is older than an hour is given up.
 *
 * @returns false when somebody else writes them, or they are being erased
 */
export async function putLooseBytes(
  applicationId: string,
  key: string,
  now: number,
  queries: Queries,
): Promise<boolean> {
  const put = await queries
    .insertInto("loose_bytes")
    .values({ application_id: applicationId, key, loose_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return put.numInsertedOrUpdatedRows === 1n;
}

/** @returns false when the upload was given up */
export async function touchLooseBytes(
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

/** In the transaction that inserts the file, or finds it still there. @returns false when the upload was given up */
export async function takeLooseBytes(applicationId: string, key: string, queries: Queries): Promise<boolean> {
  const taken = await queries
    .deleteFrom("loose_bytes")
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("loose_at", ">", isErased)
    .executeTakeFirst();
  return taken.numDeletedRows === 1n;
}

/** In the transaction that deletes the files. */
export async function loosenBytes(applicationId: string, keys: readonly string[], queries: Queries): Promise<void> {
  if (keys.length === 0) return;
  await queries
    .insertInto("loose_bytes")
    .values(keys.map((key) => ({ application_id: applicationId, key, loose_at: isErased })))
    .execute();
}

/**
 * Erases these bytes if they still belong to nothing. First it is written down: from then on nothing takes them back.
 *
 * @returns false when no row says that they are loose
 */
export async function eraseLooseBytes(
  applicationId: string,
  key: string,
  looseUntil: number,
  { database, bytes }: { readonly database: Database; readonly bytes: ByteStore },
): Promise<boolean> {
  const isOurs = await database.write(async ({ queries }) => {
    const claimed = await queries
      .updateTable("loose_bytes")
      .set({ loose_at: isErased })
      .where("application_id", "=", applicationId)
      .where("key", "=", key)
      .where("loose_at", "<=", looseUntil)
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
 * Erases all bytes of a file that is not to be, also when no row says any more that they are loose: that may have gone with
 * the application, or been given up. For who has noticed that the file cannot be made of them any more. Leaves what a file
 * has taken by then, and what somebody else is making one of.
 */
export async function eraseUntakenBytes(
  applicationId: string,
  fileId: string,
  { database, bytes }: { readonly database: Database; readonly bytes: ByteStore },
): Promise<void> {
  const taker = await database.write(({ queries }) => findTaker(applicationId, fileId, queries));
  if (taker === undefined) await bytes.deleteAll(filePrefix(applicationId, fileId));
}

/** What bytes belong to that are not loose. In one statement: an upload becomes a file in one transaction. */
export async function findTaker(
  applicationId: string,
  fileId: string,
  queries: Queries,
): Promise<"file" | "upload" | undefined> {
  const { rows } = await sql<{ taker: "file" | "upload" }>`
    select 'file' as taker from files where application_id = ${applicationId} and id = ${fileId}
    union all
    select 'upload' as taker from resumable_uploads where application_id = ${applicationId} and id = ${fileId}`.execute(
    queries,
  );
  return rows[0]?.taker;
}

/**
 * Erases what is to be erased, and what uploads have left that nobody goes on with, of all applications. What a store
 * refuses to delete keeps nothing else from being deleted.
 */
export async function eraseOldLooseBytes(
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
      await eraseLooseBytes(application_id, key, now - uploadMs, services).catch((error) => {
        if (error instanceof ApiError) throw error; // the store is out of reach
        failures.push(error);
      });
    }
    if (old.length === keysPerRound && failures.length < keysPerRound) continue;
    if (failures.length > 0) throw failures[0];
    return;
  }
}
