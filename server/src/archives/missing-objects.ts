import type { Database } from "../db/database.ts";
import { noEvents } from "../event-log/recorder.ts";
import { removeFile } from "../files/files.removal.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { dropUpload } from "../storage/resumable-uploads.ts";
import type { MissingObject } from "./format.ts";

/**
 * Deletes a file or upload that was deleted while its archive was written, as if it had been deleted before the snapshot.
 */
export async function removeDeleted(
  { applicationId, id }: MissingObject,
  { database, bytes, clock }: { readonly database: Database; readonly bytes: ByteStore; readonly clock: Clock },
): Promise<void> {
  const works: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  const background: Background = {
    run: (_name, work) => void works.push(work),
    runningCount: 0,
    stop: async () => {},
  };
  const events = noEvents; // a restored log has no readers yet
  await database.write(async (transaction) => {
    const { queries } = transaction;
    const file = await queries
      .selectFrom("files")
      .select(["id", "kind", "user_id", "content_length"])
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (file !== undefined)
      await removeFile(applicationId, file, transaction, { database, bytes, background, clock, events });
    else await dropUpload(applicationId, id, { now: clock.now(), leaseMax: Number.MAX_SAFE_INTEGER }, queries);
  });
  for (const work of works) await work(new AbortController().signal);
}
