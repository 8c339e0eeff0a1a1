import type { Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { newPermissions } from "../http/permissions.ts";
import type { Clock } from "../lib/clock.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { claimOrphans, filePrefix } from "../storage/orphaned-objects.ts";
import { chargeUsage } from "../storage/usage.ts";
import type { NewFile } from "./files.contract.ts";
import { type FileKind, ownColumns } from "./files.kinds.ts";
import { insertFile } from "./files.store.ts";
import type { StoredFile } from "./files.uploads.ts";

interface Owner {
  readonly applicationId: string;
  readonly userId: string;
}

const nowhere = { lat: null, lng: null, cell: null, seen_lat: null, seen_lng: null, seen_cell: null };

/**
 * Makes a file from stored bytes for its owner, within a transaction.
 *
 * @throws ApiError ParameterOutOfRange for permissions, FileUploadFailed when the bytes were discarded meanwhile,
 *   RequestTooLarge when a quota is used up, AuthAccessTokenInvalid when the user has been deleted
 */
export async function createFile(
  kind: FileKind,
  { applicationId, userId }: Owner,
  given: NewFile,
  stored: Omit<StoredFile, "discard">,
  { fuzzing, clock }: { readonly fuzzing: Fuzzing; readonly clock: Clock },
  queries: Queries,
): Promise<FileRow> {
  const { location } = given;
  const now = clock.now();
  const permissions = newPermissions(given);
  if (!(await claimOrphans(applicationId, filePrefix(applicationId, stored.id), queries))) {
    throw new ApiError("FileUploadFailed");
  }
  const placing = location && { applicationId, userId, setterId: userId, location };
  const row: FileRow = {
    application_id: applicationId,
    id: stored.id,
    kind: kind.idKind,
    user_id: userId,
    setter_id: null,
    content_type: stored.contentType,
    content_length: stored.contentLength,
    content_hash: stored.contentHash,
    file_name: stored.fileName,
    ...ownColumns(kind, given),
    width: stored.size?.w ?? null,
    height: stored.size?.h ?? null,
    tag: given.tag ?? null,
    ...(placing === undefined ? nowhere : await fuzzing.locate(placing, queries)),
    ...permissions,
    created_at: now,
    modified_at: now,
  };
  await insertFile(row, queries).catch((error) => {
    // The user has been deleted since the token was checked.
    throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
  });
  await chargeUsage(applicationId, userId, row.content_length, queries);
  return row;
}
