import { sql } from "kysely";
import type { Revocations } from "../auth/revocations.ts";
import type { Database, Queries, Transaction } from "../db/database.ts";
import { type Dialect, isForeignKeyViolation } from "../db/dialect.ts";
import { ownedTableNames } from "../db/owned-tables.ts";
import { userTablesInErasureOrder } from "../db/table-catalogue.ts";
import type { FileRow, OwnedRow, OwnedTableName } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import { clearSomeLocations, deleteSomeOfObjects, deleteSomeOwnSlots } from "../jobs/metadata-erasure.ts";
import { deleteSomeRows } from "../jobs/owned-rows.ts";
import { filePrefix, markForErasure } from "../storage/orphaned-objects.ts";
import { dropUpload } from "../storage/resumable-uploads.ts";
import { refundUsage } from "../storage/usage.ts";
import { userDeletedEvent } from "./users.events.ts";
import { findUser, updateUser } from "./users.store.ts";

/**
 * Marks a user as deleted: revokes the tokens, frees the name and clears personal data from the row. From here on no
 * client can find the user's objects; {@link eraseUser} erases them.
 */
export async function updateUserDeleted(
  applicationId: string,
  userId: string,
  at: number,
  { revocations, events }: { readonly revocations: Revocations; readonly events: EventRecorder },
  transaction: Transaction,
): Promise<void> {
  const { queries } = transaction;
  const user = await findUser(applicationId, userId, queries);
  const cleared = {
    user_name: "",
    password_hash: "",
    email: null,
    held_email: null,
    verified_email_key: null,
    held_email_key: null,
    first_name: null,
    last_name: null,
  };
  const location = { lat: null, lng: null, cell: null, seen_lat: null, seen_lng: null, seen_cell: null };
  // User name keys are in lower case, so this one cannot collide.
  const user_name_key = `DELETED ${userId}`;
  const picture = { profile_picture_id: null, is_picture_shared: 0 };
  const profile = { gender: null, date_of_birth: null, tag: null, language: null, ...picture, ...location };
  await updateUser(applicationId, userId, { ...cleared, ...profile, user_name_key, deleted_at: at }, queries);
  if (user !== undefined) await events.record(applicationId, userDeletedEvent(user), queries);
  await revocations.endUserTokens(applicationId, userId, transaction);
}

const rowsPerStep = 250;

/** Erases some of a user's rows. @returns how many; fewer than `rowsPerStep` when no rows are left */
type Eraser = (applicationId: string, userId: string, queries: Queries, dialect: Dialect) => Promise<number>;

const uploadsPerStep = 10; // each has many segments

/** Erases some unfinished uploads; maintenance erases their bytes. */
async function eraseSomeUploads(applicationId: string, userId: string, queries: Queries): Promise<number> {
  const some = await queries
    .selectFrom("resumable_uploads as upload")
    .innerJoin("users as user", (join) =>
      join.onRef("user.application_id", "=", "upload.application_id").onRef("user.id", "=", "upload.user_id"),
    )
    .select(["upload.id", "user.deleted_at"])
    .where("upload.application_id", "=", applicationId)
    .where("upload.user_id", "=", userId)
    .limit(uploadsPerStep)
    .execute();
  for (const { id, deleted_at } of some) {
    const now = deleted_at ?? 0; // set when the user was deleted
    await dropUpload(applicationId, id, { now, leaseMax: Number.MAX_SAFE_INTEGER }, queries);
  }
  return some.length === uploadsPerStep ? rowsPerStep : some.length;
}

/** Erases some objects of a table. */
function ownedEraser<Row extends OwnedRow>(table: OwnedTableName, release?: Release<Row>): Eraser {
  return async (applicationId, userId, queries, dialect) => {
    const owner = { applicationId, userId };
    const erased = await eraseSomeOwned<Row>(table, owner, rowsPerStep, queries, dialect);
    if (erased === "more") return rowsPerStep;
    await release?.(owner, erased.deleted, queries);
    return erased.found;
  };
}

/** The changes that follow the erasure of rows, in the same transaction. */
type Release<Row> = (
  owner: { readonly applicationId: string; readonly userId: string },
  deleted: readonly Row[],
  queries: Queries,
) => Promise<void>;

/**
 * Releases the quota of the files that this transaction deleted. Files that a concurrent request deletes release theirs
 * there; maintenance erases the bytes.
 */
const releaseFiles: Release<FileRow> = async ({ applicationId, userId }, deleted, queries) => {
  if (deleted.length === 0) return;
  await markForErasure(
    applicationId,
    deleted.map(({ id }) => filePrefix(applicationId, id)),
    queries,
  );
  const bytes = deleted.reduce((sum, { content_length }) => sum + content_length, 0);
  await refundUsage(applicationId, userId, { bytes, files: deleted.length }, queries);
};

/** Small and personal data is erased before objects and files. */
const erasers: readonly Eraser[] = [
  ...userTablesInErasureOrder.map(
    (table): Eraser =>
      (application_id, user_id, queries) =>
        deleteSomeRows(table, { application_id, user_id }, rowsPerStep, queries),
  ),
  (applicationId, userId, queries) => deleteSomeOwnSlots(applicationId, userId, rowsPerStep, queries),
  (applicationId, userId, queries) => clearSomeLocations(applicationId, userId, rowsPerStep, queries),
  (application_id, userId, queries) =>
    deleteSomeRows("metadata", { application_id, object_id: userId }, rowsPerStep, queries),
  eraseSomeUploads, // before the files, because an upload can still become one
  ...ownedTableNames.map((table) => (table === "files" ? ownedEraser(table, releaseFiles) : ownedEraser(table))),
  (application_id, user_id, queries) => deleteSomeRows("file_usage", { application_id, user_id }, rowsPerStep, queries),
];

/**
 * Erases the rows of a deleted user, a bounded number per transaction, and the user's own row last. Can be stopped and
 * resumed at any point.
 *
 * @returns false when rows are left: it stopped after `stepsMax` transactions, or a concurrent request added rows
 */
export async function eraseUser(
  applicationId: string,
  userId: string,
  database: Database,
  { stepsMax = Number.POSITIVE_INFINITY, signal }: { stepsMax?: number; signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  let steps = 0;
  for (const eraseSome of erasers) {
    let rows: number;
    do {
      signal?.throwIfAborted();
      if (steps >= stepsMax) return false;
      rows = await database.write(({ queries }) => eraseSome(applicationId, userId, queries, database.dialect));
      if (rows > 0) steps += 1;
    } while (rows >= rowsPerStep);
  }
  try {
    await database.write(({ queries }) =>
      queries
        .deleteFrom("users")
        .where("application_id", "=", applicationId)
        .where("id", "=", userId)
        .where("deleted_at", "is not", null)
        .execute(),
    );
    return true;
  } catch (error) {
    // A concurrent request wrote rows to a table that was already erased.
    if (isForeignKeyViolation(error)) return false;
    throw error;
  }
}

/**
 * Erases some objects of a user that have no metadata left, otherwise some of their metadata. Locks objects before
 * their metadata, as requests do that change or delete one, to prevent deadlocks.
 *
 * @returns "more" when metadata is left; otherwise the rows that this transaction deleted, and how many it found
 */
async function eraseSomeOwned<Row extends OwnedRow>(
  table: OwnedTableName,
  { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
  count: number,
  queries: Queries,
  dialect: Dialect,
): Promise<"more" | { readonly found: number; readonly deleted: readonly Row[] }> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where application_id = ${applicationId} and user_id = ${userId}
    limit ${count} ${dialect.forUpdate}`.execute(queries);
  if (rows.length === 0) return { found: 0, deleted: [] };
  const ids = rows.map(({ id }) => id);
  if (!(await deleteSomeOfObjects(applicationId, ids, queries))) return "more";
  const deleted = await sql<Row>`
    delete from ${sql.table(table)} where application_id = ${applicationId} and id in (${sql.join(ids)})
    returning *`.execute(queries);
  return { found: rows.length, deleted: deleted.rows };
}
