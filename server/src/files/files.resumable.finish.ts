import { type FindLocation, resolveLocations } from "../contract/sent-locations.ts";
import type { Database } from "../db/database.ts";
import type { ResumableUploadRow } from "../db/tables.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError, errorRow } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import {
  eraseOrphans,
  eraseUnreferencedObjects,
  filePrefix,
  findReference,
  markForErasure,
} from "../storage/orphaned-objects.ts";
import { dropUpload } from "../storage/resumable-uploads.ts";
import { createFile } from "./files.creation.ts";
import { describeFile } from "./files.resumable.metadata.ts";
import {
  extendLease,
  leaseUpload,
  listCompleteUploads,
  listExpiredUploads,
  listSegmentKeys,
  takeUpload,
} from "./files.resumable.store.ts";
import { writeOriginal } from "./files.uploads.ts";

export interface FinishingServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly background: Background;
  readonly fuzzing: Fuzzing;
  readonly findLocation: FindLocation;
  readonly clock: Clock;
  readonly statistics: Services["statistics"];
  readonly events: Services["events"];
}

/** How long a lease that is not extended excludes other processes. */
const leaseMs = 6_000;
const leaseExtendedMs = 2_000;

export function leaseFrom(now: number): { readonly now: number; readonly leasedUntil: number } {
  return { now, leasedUntil: now + leaseMs };
}

/** The key prefix of an upload's segments. */
export function segmentsPrefix({ application_id, id }: Pick<ResumableUploadRow, "application_id" | "id">): string {
  return `${filePrefix(application_id, id)}s/`;
}

/**
 * Completes an upload that has all its bytes after an interrupted attempt.
 *
 * @throws ApiError ServiceUnavailable while another process holds the lease; otherwise like {@link finishUpload}
 */
export async function resumeFinishing(upload: ResumableUploadRow, services: FinishingServices): Promise<void> {
  const { database, clock } = services;
  const lease = leaseFrom(clock.now());
  if (!(await database.write(({ queries }) => leaseUpload(upload, lease, queries)))) {
    throw beingFinished();
  }
  await finishUpload({ ...upload, finishing_until: lease.leasedUntil }, services);
}

/**
 * Creates the file of a complete upload; the caller holds its lease. Unsuitable bytes delete the upload; after a fault
 * the client can try again.
 *
 * @throws ApiError FileUploadFailed, RequestTooLarge, AuthAccessTokenInvalid: the upload is deleted.
 * ServiceUnavailable: includes a lease that expired because the database did not respond; then the work continues
 */
export async function finishUpload(upload: ResumableUploadRow, services: FinishingServices): Promise<void> {
  const lease = holdLease(upload, services);
  await Promise.race([finish(upload, lease, services).finally(lease.stop), lease.isExpired]);
}

interface Lease {
  readonly until: number;
  /** Rejects when the lease expires because the database does not respond. */
  readonly isExpired: Promise<never>;
  stop(): void;
}

/** Extends a lease until it is stopped. */
function holdLease(upload: ResumableUploadRow, { database, clock }: FinishingServices): Lease {
  const { promise: isExpired, reject } = Promise.withResolvers<never>();
  let until = upload.finishing_until;
  let unanswered = 0;
  const extending = setInterval(() => {
    unanswered += 1;
    if (unanswered * leaseExtendedMs >= leaseMs) reject(beingFinished());
    const to = clock.now() + leaseMs;
    database
      .write(({ queries }) => extendLease(upload, until, to, queries))
      .then(
        (isExtended) => {
          unanswered = 0;
          if (isExtended) until = to;
        },
        () => {}, // the next timer repeats it
      );
  }, leaseExtendedMs);
  return {
    get until() {
      return until;
    },
    isExpired,
    stop: () => clearInterval(extending),
  };
}

async function finish(upload: ResumableUploadRow, lease: Lease, services: FinishingServices): Promise<void> {
  const { database, background } = services;
  const { application_id, id } = upload;
  try {
    await makeFile(upload, services);
  } catch (error) {
    const refusal =
      error instanceof BytesMissing ? new ApiError("FileUploadFailed", undefined, { cause: error }) : error;
    if (!(await releaseAfterFailure(upload, lease.until, isFinal(refusal), services))) {
      // After a stall longer than the lease, another process may have created the file, which needs these bytes.
      if ((await database.write(({ queries }) => findReference(application_id, id, queries))) === "file") return;
    } else if (!isFinal(refusal)) throw refusal;
    background.run("erase an upload", () => eraseUnreferencedObjects(application_id, id, services));
    throw refusal;
  }
}

function beingFinished(): ApiError {
  return new ApiError("ServiceUnavailable", "The upload is being finished.");
}

/** @returns false when the lease is lost: the upload no longer exists, or another process completes it */
function releaseAfterFailure(
  upload: ResumableUploadRow,
  lease: number,
  isForGood: boolean,
  { database, clock }: FinishingServices,
): Promise<boolean> {
  const { application_id, id } = upload;
  if (isForGood) {
    const dropped = { now: clock.now(), leaseMax: lease };
    return database.write(({ queries }) => dropUpload(application_id, id, dropped, queries));
  }
  const released = database.write(({ queries }) => extendLease(upload, lease, 0, queries));
  return released.catch(() => true); // the lease expires anyway
}

async function makeFile(upload: ResumableUploadRow, services: FinishingServices): Promise<void> {
  const { database, bytes, background, findLocation } = services;
  const { application_id, id, user_id } = upload;
  const { kind, parameters: described, ...claimed } = describeFile(upload.metadata);
  const keys = await listSegmentKeys(upload, database.reads);
  const owner = { applicationId: application_id, userId: user_id };
  const parameters = await resolveLocations(described, owner, findLocation).catch((cause) => {
    if (!isFinal(cause)) throw cause;
    throw new ApiError("FileUploadFailed", "The location of the upload does not exist any more.", { cause });
  });
  const creator = { ...owner, ...(upload.is_test === 1 && { isTest: true as const }) };
  const stored = await writeOriginal(kind, owner, id, { ...claimed, bytes: readAll(keys, bytes) }, services);
  const prefix = segmentsPrefix(upload);
  await database.write(async (transaction) => {
    const { queries, afterCommit } = transaction;
    if (!(await takeUpload(upload, queries))) throw new ApiError("ItemDoesNotExist");
    await createFile(kind, creator, parameters, stored, services, transaction);
    await markForErasure(application_id, [prefix], queries);
    afterCommit(() =>
      background.run("eraseOrphans", () => eraseOrphans(application_id, prefix, 0, { database, bytes })),
    );
  });
}

async function* readAll(keys: readonly string[], bytes: ByteStore): AsyncGenerator<Uint8Array> {
  for (const key of keys) yield* await bytes.read(key);
}

/** Whether every further attempt would fail with the same error. */
function isFinal(error: unknown): error is ApiError {
  return error instanceof ApiError && errorRow(error.condition).status < 500;
}

const uploadsPerRound = 100;

/** Completes uploads whose process stopped after the last byte, and deletes expired ones, in all applications. */
export async function settleUploads(
  services: FinishingServices & { readonly log: { warn(about: object, message: string): void } },
  signal?: AbortSignal,
): Promise<void> {
  const { database, bytes, clock, log } = services;
  for (const upload of await listCompleteUploads(clock.now(), uploadsPerRound, database.reads)) {
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
      // May fail: maintenance deletes again an hour later, because a request may still be writing
      // (`orphaned-objects.ts`).
      await bytes.deleteAll(filePrefix(application_id, id)).catch(() => {});
    }
    if (expired.length < uploadsPerRound) return;
  }
}
