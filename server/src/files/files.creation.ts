import type { Transaction } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { createOwned, newColumns } from "../owned/changes.ts";
import { columnsOf } from "../owned/fields.ts";
import { claimOrphans, filePrefix } from "../storage/orphaned-objects.ts";
import { chargeUsage } from "../storage/usage.ts";
import type { NewFile } from "./files.contract.ts";
import type { FileKind } from "./files.kinds.ts";
import type { StoredFile } from "./files.uploads.ts";

interface Owner {
  readonly applicationId: string;
  readonly userId: string;
  /** As in `Caller`. */
  readonly isTest?: true;
}

/** The columns of fields and location that the client did not send. */
const nothing = {
  ...{ title: null, detail: null, label: null, bit_rate: null, length_in_seconds: null, thumbnail_id: null },
  ...{ lat: null, lng: null, cell: null, seen_lat: null, seen_lng: null, seen_cell: null },
};

/**
 * Creates the file of stored bytes for its owner, within a transaction.
 *
 * @throws ApiError ParameterOutOfRange for permissions, FileUploadFailed when the bytes have been discarded,
 * RequestTooLarge when a quota is used up, AuthAccessTokenInvalid when the user has been deleted
 */
export async function createFile(
  kind: FileKind,
  owner: Owner,
  given: NewFile,
  stored: Omit<StoredFile, "discard">,
  { fuzzing, clock, statistics, events }: Pick<Services, "fuzzing" | "clock" | "statistics" | "events">,
  { queries, afterCommit }: Transaction,
): Promise<FileRow> {
  const { applicationId, userId } = owner;
  const { location } = given;
  const columns = newColumns(owner, stored.id, given, clock);
  if (!(await claimOrphans(applicationId, filePrefix(applicationId, stored.id), queries))) {
    throw new ApiError("FileUploadFailed");
  }
  const row: FileRow = {
    ...columns,
    kind: kind.idKind,
    content_type: stored.contentType,
    content_length: stored.contentLength,
    content_hash: stored.contentHash,
    file_name: stored.fileName,
    ...nothing,
    ...columnsOf(kind.fields, given),
    width: stored.size?.w ?? null,
    height: stored.size?.h ?? null,
    ...(location && (await fuzzing.locate({ applicationId, userId, setterId: userId, location }, queries))),
  };
  await createOwned("files", row, events, queries);
  await chargeUsage(applicationId, userId, row.content_length, queries);
  if (!owner.isTest) afterCommit(() => statistics.countFile(applicationId, row.content_length));
  return row;
}
