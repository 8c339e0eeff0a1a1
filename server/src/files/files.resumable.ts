import { randomBytes } from "node:crypto";
import type { ArrivingBytes } from "../contract/endpoint.ts";
import { requireEnabled } from "../contract/policy.ts";
import type { UserCaller } from "../contract/route.ts";
import { resolveLocations } from "../contract/sent-locations.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { ResumableUploadRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { RateLimits } from "../operations/rate-limits.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import { filePrefix, putOrphans } from "../storage/orphaned-objects.ts";
import { dropUpload } from "../storage/resumable-uploads.ts";
import { chargeUsage } from "../storage/usage.ts";
import type { Checksum } from "./files.resumable.checksum.ts";
import {
  type FinishingServices,
  finishUpload,
  leaseFrom,
  resumeFinishing,
  segmentsPrefix,
} from "./files.resumable.finish.ts";
import { describeFile } from "./files.resumable.metadata.ts";
import { advanceUpload, countUploads, findUpload, insertUpload, type Segment } from "./files.resumable.store.ts";
import { findLiveFile } from "./files.store.ts";
import { emptyFile } from "./files.uploads.ts";

const segmentBytesMin = 8_388_608;
const fullSegmentsMax = 1_000;
/** The maximum time to write one segment, which bounds what a killed process loses. */
const segmentMs = 300_000;

/** The size of a segment: 8 MiB, or a thousandth of the length if that is more. */
function segmentBytesOf(length: number): number {
  return Math.max(segmentBytesMin, Math.ceil(length / fullSegmentsMax));
}

/**
 * Writes arriving bytes as segments, one object each. If the source stops early, the partial segment is stored. Buffers
 * at most one chunk.
 *
 * @param prefix the key prefix of the objects
 * @yields segments that are on disk
 */
async function* writeSegments(
  chunks: AsyncIterable<Uint8Array>,
  prefix: string,
  segmentBytes: number,
  bytes: ByteStore,
): AsyncGenerator<Segment> {
  const source = chunks[Symbol.asyncIterator]();
  let pending: Uint8Array = new Uint8Array();
  async function isMore(): Promise<boolean> {
    while (pending.length === 0) {
      const { done, value } = await source.next();
      if (done === true) return false;
      pending = value;
    }
    return true;
  }

  while (await isMore()) {
    const startedAt = performance.now();
    let length = 0;
    const segment = async function* (): AsyncGenerator<Uint8Array> {
      while (length < segmentBytes && performance.now() - startedAt < segmentMs && (await isMore())) {
        const taken = pending.subarray(0, segmentBytes - length);
        pending = pending.subarray(taken.length);
        length += taken.length;
        yield taken;
      }
    };
    const key = `${prefix}${randomBytes(12).toString("hex")}`;
    await bytes.write(key, segment());
    yield { key, length };
  }
}

export interface ResumableUploadServices extends FinishingServices {
  readonly rateLimits: RateLimits;
  readonly ids: IdGenerator;
  readonly config: { readonly fileBytesMax: number; readonly uploadLifetimeMs: number };
}

/** The progress of an upload. */
export interface UploadState {
  readonly id: string;
  readonly length: number;
  readonly received: number;
  readonly createdAt: number;
  /** Undefined once the upload is a file. */
  readonly row: ResumableUploadRow | undefined;
}

const uploadsPerUserMax = 100;
/** An uninterrupted upload has at most a thousand segments; the rest allows for interruptions. */
const segmentsMax = 2_000;

/**
 * Creates an upload: charges its quota and validates its parameters before any byte arrives.
 *
 * @throws ApiError AuthAPICallDisabledByDeveloper, RateLimitExceeded, FileUploadFailed, RequestTooLarge,
 * AuthAccessTokenInvalid, and the errors of {@link describeFile}
 */
export async function createUpload(
  caller: UserCaller,
  length: number,
  metadata: string,
  { database, rateLimits, findLocation, clock, ids, config }: ResumableUploadServices,
): Promise<UploadState> {
  const { applicationId, userId, policy } = caller;
  const { kind, parameters } = describeFile(metadata);
  await resolveLocations(parameters, caller, findLocation); // refuses the id of a location that the user cannot see
  // The form upload of the same kind; its switches and rate limits also apply here.
  const creation = { method: "POST", path: `/${kind.collection}` };
  requireEnabled(policy, creation, {});
  await rateLimits.admitAs(creation, { path: {}, address: "" }, caller);
  if (length === 0) throw emptyFile();
  if (length > config.fileBytesMax) {
    throw new ApiError("RequestTooLarge", `The file is larger than ${config.fileBytesMax} bytes.`, {
      parameter: "Upload-Length",
    });
  }
  const id = ids.newId(kind.idKind);
  const created_at = clock.now();
  const expires_at = created_at + config.uploadLifetimeMs;
  const row: ResumableUploadRow = {
    ...{ application_id: applicationId, id, user_id: userId, metadata, length, received: 0, segments: 0 },
    ...{ finishing_until: 0, created_at, expires_at, is_test: caller.isTest ? 1 : 0 },
  };
  await database
    .write(async ({ queries }) => {
      await chargeUsage(applicationId, userId, length, queries); // serializes creations of one user
      if ((await countUploads(applicationId, userId, queries)) >= uploadsPerUserMax) {
        throw new ApiError("RequestTooLarge", `The user has ${uploadsPerUserMax} unfinished uploads.`);
      }
      await putOrphans(applicationId, filePrefix(applicationId, id), expires_at, queries);
      await insertUpload(row, queries);
    })
    .catch((error) => {
      // The application or the user was erased after the token check.
      throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
    });
  return stateOf(row);
}

/** Finds an upload of this user, or the file that it became. @throws ApiError ItemDoesNotExist */
export async function findUploadState(
  { applicationId, userId }: UserCaller,
  id: string,
  { database, clock }: ResumableUploadServices,
): Promise<UploadState> {
  const row = await findUpload(applicationId, id, database.reads);
  const isAlive = row !== undefined && (row.expires_at > clock.now() || isComplete(row));
  if (isAlive && row.user_id === userId) return stateOf(row);
  const file = await findLiveFile(applicationId, id, database.reads);
  if (file?.user_id !== userId) throw new ApiError("ItemDoesNotExist");
  return { id, length: file.content_length, received: file.content_length, createdAt: file.created_at, row: undefined };
}

/**
 * Like `findUploadState`, but creates the file of a complete upload first.
 *
 * @throws ApiError ItemDoesNotExist, and the errors of `resumeFinishing`
 */
export async function settleUpload(
  caller: UserCaller,
  id: string,
  services: ResumableUploadServices,
): Promise<UploadState> {
  const state = await findUploadState(caller, id, services);
  if (state.row === undefined || !isComplete(state.row)) return state;
  await resumeFinishing(state.row, services);
  return { ...state, row: undefined };
}

/**
 * Appends bytes at the offset of an upload. Each segment counts once it is on disk; with a checksum, all count after
 * its verification. Creates the file when the upload is complete.
 *
 * @throws ApiError UploadOffsetConflict, UploadChecksumMismatch, RequestTooLarge, ServiceUnavailable, ItemDoesNotExist,
 * and the errors of `finishUpload`
 */
export async function receiveBytes(
  initial: ResumableUploadRow,
  body: ArrivingBytes,
  checksum: Checksum | undefined,
  services: ResumableUploadServices,
): Promise<UploadState> {
  const { database, bytes, clock } = services;
  let upload = initial;
  const unchecked: Segment[] = [];
  /** Segments on disk that certainly do not count. */
  const pending = new Set<Segment>();

  /** Forwards chunks, and throws before storing any of the first chunk beyond the length. */
  async function* boundedChunks(): AsyncGenerator<Uint8Array> {
    let room = initial.length - initial.received;
    for await (const chunk of body.chunks) {
      room -= chunk.length;
      if (room < 0) throw new ApiError("RequestTooLarge", `The upload has more than ${initial.length} bytes.`);
      checksum?.update(chunk);
      yield chunk;
    }
  }
  async function advance(segments: readonly Segment[]): Promise<void> {
    const lease = leaseFrom(clock.now());
    // If the commit fails, they may count and must not be deleted.
    for (const segment of segments) pending.delete(segment);
    const advanced = await database.write(({ queries }) => advanceUpload(upload, segments, lease, queries));
    if (advanced === undefined) {
      for (const segment of segments) pending.add(segment);
      const { application_id, id } = upload;
      const row = await findUpload(application_id, id, database.reads);
      const isThere =
        row === undefined // an earlier request may have made the file
          ? (await findLiveFile(application_id, id, database.reads)) !== undefined
          : row.expires_at > clock.now();
      throw new ApiError(isThere ? "UploadOffsetConflict" : "ItemDoesNotExist");
    }
    upload = advanced;
  }

  try {
    const segments = writeSegments(boundedChunks(), segmentsPrefix(initial), segmentBytesOf(initial.length), bytes);
    for await (const segment of segments) {
      pending.add(segment);
      if (upload.segments + unchecked.length >= segmentsMax) {
        throw new ApiError("RequestTooLarge", `The upload has more than ${segmentsMax} segments.`);
      }
      if (checksum !== undefined) unchecked.push(segment);
      else {
        await advance([segment]);
        if (isComplete(upload)) break; // stops here, because the lease would expire if a slow sender kept the body open
      }
    }
    if (checksum !== undefined) {
      if (!body.isWhole() || !checksum.isRight()) throw new ApiError("UploadChecksumMismatch");
      if (unchecked.length > 0) await advance(unchecked);
    }
  } catch (error) {
    // Segments whose deletion fails are deleted with the upload.
    for (const { key } of pending) await bytes.deleteAll(key).catch(() => {});
    throw error;
  }
  if (isComplete(upload)) {
    await finishUpload(upload, services);
    return { ...stateOf(upload), row: undefined };
  }
  return stateOf(upload);
}

/**
 * @throws ApiError ItemDoesNotExist; ObjectPermissionDenied when it is a file, ServiceUnavailable while it becomes one
 */
export async function removeUpload(caller: UserCaller, id: string, services: ResumableUploadServices): Promise<void> {
  const { applicationId } = caller;
  const { database, bytes, background, clock } = services;
  const { row } = await findUploadState(caller, id, services);
  if (row === undefined)
    throw new ApiError("ObjectPermissionDenied", "The upload is complete: delete the file instead.");
  if (!(await database.write(({ queries }) => dropUpload(applicationId, id, { now: clock.now() }, queries)))) {
    throw new ApiError("ServiceUnavailable", "The upload is being finished.");
  }
  background.run("erase an upload", () => bytes.deleteAll(filePrefix(applicationId, id)));
}

function isComplete({ length, received }: ResumableUploadRow): boolean {
  return received === length;
}

function stateOf(row: ResumableUploadRow): UploadState {
  return { id: row.id, length: row.length, received: row.received, createdAt: row.created_at, row };
}
