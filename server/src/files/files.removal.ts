import type { Background } from "../background.ts";
import type { Database, Transaction } from "../db/database.ts";
import { eraseMetadataOf, finishErasure } from "../db/metadata-erasure.ts";
import type { FileRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { eraseLooseBytes, filePrefix, loosenBytes } from "../storage/loose-bytes.ts";
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
 * Deletes a file with all that belongs to it; its bytes, and the rest of very much metadata, once that is on disk.
 *
 * @returns false when it was gone already
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
  await loosenBytes(applicationId, [prefix], queries);
  afterCommit(() =>
    background.run("eraseLooseBytes", () => eraseLooseBytes(applicationId, prefix, 0, { database, bytes })),
  );
  // After the file: who was writing its metadata has come to an end then.
  if (!(await eraseMetadataOf(applicationId, file.id, queries))) {
    afterCommit(() =>
      background.run("finishErasure", (signal) => finishErasure(applicationId, file.id, database, signal)),
    );
  }
  return true;
}
