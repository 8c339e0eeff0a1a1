import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { ResumableUploadRow } from "../db/tables.ts";
import { deleteUpload } from "../storage/resumable-uploads.ts";

/** Some of the bytes of an upload, in the store. */
export interface Segment {
  readonly key: string;
  readonly length: number;
}

export async function insertUpload(row: ResumableUploadRow, queries: Queries): Promise<void> {
  await queries.insertInto("resumable_uploads").values(row).execute();
}

export async function countUploads(applicationId: string, userId: string, queries: Queries): Promise<number> {
  const counted = await queries
    .selectFrom("resumable_uploads")
    .select(({ fn }) => fn.countAll().as("uploads"))
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .executeTakeFirstOrThrow();
  return Number(counted.uploads);
}

export async function findUpload(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<ResumableUploadRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  return row;
}

const findById = prepare<{ applicationId: string; id: string }, ResumableUploadRow>((queries, parameter) =>
  queries
    .selectFrom("resumable_uploads")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

/**
 * Adds segments to an upload that has come to this place, and to no other.
 *
 * @param leasedUntil for whoever finishes it, if it is whole by them
 * @returns how it is from there on, or undefined when it is gone, has expired, or came to another place meanwhile
 */
export async function advanceUpload(
  upload: ResumableUploadRow,
  segments: readonly Segment[],
  { now, leasedUntil }: { readonly now: number; readonly leasedUntil: number },
  queries: Queries,
): Promise<ResumableUploadRow | undefined> {
  const { application_id, id, length } = upload;
  let received = upload.received;
  const rows = segments.map((segment) => {
    const row = { application_id, upload_id: id, first_byte: received, key: segment.key };
    received += segment.length;
    return row;
  });
  const changed = {
    received,
    segments: upload.segments + rows.length,
    finishing_until: received === length ? leasedUntil : 0,
  };
  const advanced = await queries
    .updateTable("resumable_uploads")
    .set(changed)
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .where("received", "=", upload.received)
    .where("expires_at", ">", now)
    .executeTakeFirst();
  if (advanced.numUpdatedRows === 0n) return undefined;
  if (rows.length > 0) await queries.insertInto("upload_segments").values(rows).execute();
  return { ...upload, ...changed };
}

/** Makes somebody the one who finishes an upload that is whole. @returns false when somebody else is */
export async function leaseUpload(
  { application_id, id }: ResumableUploadRow,
  { now, leasedUntil }: { readonly now: number; readonly leasedUntil: number },
  queries: Queries,
): Promise<boolean> {
  const leased = await queries
    .updateTable("resumable_uploads")
    .set({ finishing_until: leasedUntil })
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .where("received", "=", sql.ref<number>("length"))
    .where("finishing_until", "<=", now)
    .executeTakeFirst();
  return leased.numUpdatedRows === 1n;
}

/** Holds a lease for longer, or gives it up. @returns false when it has been lost */
export async function extendLease(
  { application_id, id }: ResumableUploadRow,
  from: number,
  to: number,
  queries: Queries,
): Promise<boolean> {
  const extended = await queries
    .updateTable("resumable_uploads")
    .set({ finishing_until: to })
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .where("finishing_until", "=", from)
    .executeTakeFirst();
  return extended.numUpdatedRows === 1n;
}

/** The keys of what an upload consists of, in order. */
export async function listSegmentKeys({ application_id, id }: ResumableUploadRow, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("upload_segments")
    .select("key")
    .where("application_id", "=", application_id)
    .where("upload_id", "=", id)
    .orderBy("first_byte")
    .execute();
  return rows.map(({ key }) => key);
}

/** In the transaction that makes the file of it. @returns false when it is gone already */
export async function takeUpload({ application_id, id }: ResumableUploadRow, queries: Queries): Promise<boolean> {
  const locked = await queries
    .updateTable("resumable_uploads")
    .set({ expires_at: 0 })
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .executeTakeFirst();
  if (locked.numUpdatedRows === 0n) return false;
  await deleteUpload(application_id, id, queries);
  return true;
}

/** Uploads of all applications that have expired, and that nobody finishes. */
export function listExpiredUploads(now: number, limit: number, queries: Queries): Promise<ResumableUploadRow[]> {
  return queries
    .selectFrom("resumable_uploads")
    .selectAll()
    .where("expires_at", "<=", now)
    .where("finishing_until", "<=", now)
    .orderBy("expires_at")
    .limit(limit)
    .execute();
}

/** Uploads of all applications that are whole, and that nobody finishes. */
export function listWholeUploads(now: number, limit: number, queries: Queries): Promise<ResumableUploadRow[]> {
  return queries
    .selectFrom("resumable_uploads")
    .selectAll()
    .where("received", "=", sql.ref<number>("length"))
    .where("finishing_until", "<=", now)
    .orderBy("finishing_until")
    .limit(limit)
    .execute();
}
