import { filePrefix } from "../storage/orphaned-objects.ts";
import { dropUpload } from "../storage/resumable-uploads.ts";
import { type FinishingServices, resumeFinishing } from "./files.resumable.finish.ts";
import { listExpiredUploads, listWholeUploads } from "./files.resumable.store.ts";

const uploadsPerRound = 100;

/** Finishes uploads that a process left complete, and drops expired ones, in all applications. */
export async function settleUploads(
  services: FinishingServices & { readonly log: { warn(about: object, message: string): void } },
  signal?: AbortSignal,
): Promise<void> {
  const { database, bytes, clock, log } = services;
  for (const upload of await listWholeUploads(clock.now(), uploadsPerRound, database.reads)) {
    signal?.throwIfAborted();
    await resumeFinishing(upload, services).catch((err) => {
      log.warn({ err, upload: upload.id }, "an upload could not be finished; maintenance tries it again");
    });
  }
  for (;;) {
    const now = clock.now();
    const expired = await listExpiredUploads(now, uploadsPerRound, database.reads);
    for (const { application_id, id } of expired) {
      signal?.throwIfAborted();
      if (!(await database.write(({ queries }) => dropUpload(application_id, id, { now }, queries)))) continue;
      // May fail: maintenance deletes again an hour later, for requests that were still writing
      // (`orphaned-objects.ts`).
      await bytes.deleteAll(filePrefix(application_id, id)).catch(() => {});
    }
    if (expired.length < uploadsPerRound) return;
  }
}
