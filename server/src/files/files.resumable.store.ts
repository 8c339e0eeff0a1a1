import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { ResumableUploadRow } from "../db/tables.ts";
import { deleteUpload } from "../storage/resumable-uploads.ts";

/** A range of an upload's bytes, in the store. */
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
 * Adds segments to an upload, if its offset is exactly the expected one.
 *
 * @param leasedUntil lease for the caller to complete the upload, if these are the last segments
 * @returns the upload afterwards, or undefined when it no longer exists, has expired, or has another offset
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

/**
 * Leases a complete upload to the process that creates its file. @returns false when another process holds the lease
 */
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

/** Extends or releases a lease. @returns false when the lease is lost */
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

/** Lists the object keys of an upload's segments, in order. */
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

/** Deletes the row in the transaction that creates the file. @returns false when the row no longer exists */
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

/** Lists expired uploads of all applications without a lease. */
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

/** Lists complete uploads of all applications without a lease. */
export function listCompleteUploads(now: number, limit: number, queries: Queries): Promise<ResumableUploadRow[]> {
  return queries
    .selectFrom("resumable_uploads")
    .selectAll()
    .where("received", "=", sql.ref<number>("length"))
    .where("finishing_until", "<=", now)
    .orderBy("finishing_until")
    .limit(limit)
    .execute();
}
