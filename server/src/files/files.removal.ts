import type { Database, Transaction } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import { removeOwned } from "../owned/changes.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { eraseOrphans, filePrefix, markForErasure } from "../storage/orphaned-objects.ts";
import { refundUsage } from "../storage/usage.ts";
import { recordPictureChange, unsetProfilePicture } from "./files.profile-pictures.store.ts";

interface RemovalServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly background: Background;
  readonly clock: Clock;
  readonly events: EventRecorder;
}

/**
 * Deletes a file with all dependent rows. Its bytes are erased after the commit.
 *
 * @returns false when the file no longer exists
 */
export async function removeFile(
  applicationId: string,
  file: Pick<FileRow, "id" | "kind" | "user_id" | "content_length">,
  transaction: Transaction,
  services: RemovalServices,
): Promise<boolean> {
  const { queries, afterCommit } = transaction;
  const { database, bytes, background, clock, events } = services;
  if (file.kind === "Picture") {
    const owner = await unsetProfilePicture(applicationId, file, clock.now(), queries);
    await recordPictureChange(applicationId, owner, events, queries);
  }
  if (!(await removeOwned("files", applicationId, file.id, transaction, services))) return false;
  await refundUsage(applicationId, file.user_id, { bytes: file.content_length, files: 1 }, queries);
  const prefix = filePrefix(applicationId, file.id);
  await markForErasure(applicationId, [prefix], queries);
  afterCommit(() => background.run("eraseOrphans", () => eraseOrphans(applicationId, prefix, 0, { database, bytes })));
  return true;
}
