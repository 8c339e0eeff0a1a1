import type { Background } from "../background.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { eraseMetadataOf, finishErasure } from "../erasure/metadata-erasure.ts";
import type { Clock } from "../lib/clock.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { eraseOrphans, filePrefix, markForErasure } from "../storage/orphaned-objects.ts";
import { refundUsage } from "../storage/usage.ts";
import { unsetProfilePicture } from "./files.profile-pictures.store.ts";
import { deleteFile } from "./files.store.ts";

interface RemovalServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly background: Background;
  readonly clock: Clock;
}

/**
 * Deletes a file with all that belongs to it. Its bytes, and remaining metadata beyond the first chunk, are erased
 * after the commit.
 *
 * @returns false when it was already gone
 */
export async function removeFile(
  applicationId: string,
  file: Pick<FileRow, "id" | "kind" | "user_id" | "content_length">,
  { queries, afterCommit }: Transaction,
  { database, bytes, background, clock }: RemovalServices,
): Promise<boolean> {
  if (file.kind === "Picture") await unsetProfilePicture(applicationId, file, clock.now(), queries);
  if (!(await deleteFile(applicationId, file.id, queries))) return false;
  await refundUsage(applicationId, file.user_id, { bytes: file.content_length, files: 1 }, queries);
  const prefix = filePrefix(applicationId, file.id);
  await markForErasure(applicationId, [prefix], queries);
  afterCommit(() => background.run("eraseOrphans", () => eraseOrphans(applicationId, prefix, 0, { database, bytes })));
  // After the deletion of the file, no writer of its metadata is left.
  if (!(await eraseMetadataOf(applicationId, file.id, queries))) {
    afterCommit(() =>
      background.run("finishErasure", (signal) => finishErasure(applicationId, file.id, database, signal)),
    );
  }
  return true;
}
