import { createHash } from "node:crypto";
import type { Call, StoredUpload, UploadedPart } from "../contract/call.ts";
import type { UserCaller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { readMediaType } from "../lib/media-types.ts";
import { sniffedBytes, sniffPicture } from "../lib/sniffing.ts";
import type { PictureSize } from "../pictures/picture-job.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import {
  eraseOrphans,
  eraseUnreferencedObjects,
  filePrefix,
  putOrphans,
  touchOrphans,
} from "../storage/orphaned-objects.ts";
import { freeQuotaOf } from "../storage/usage.ts";
import type { FileKind } from "./files.kinds.ts";

/** Stored bytes, with the properties of the future file. */
export interface StoredFile extends StoredUpload {
  readonly id: string;
  readonly contentType: string;
  readonly contentLength: number;
  /** SHA-256, in lower-case hex. */
  readonly contentHash: string;
  readonly fileName: string | null;
  readonly size: PictureSize | undefined;
}

/** The bytes of a file, with the client's claims about them. */
export type ClaimedFile = Omit<UploadedPart, "signal"> & { readonly signal?: AbortSignal };

export interface UploadServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** The call that uploads a file. */
interface UploadCall extends Pick<Call, "idempotencyKey" | "whenGone"> {
  /**
   * Whether another file frees space for this one; the quota is then checked in the transaction, as for a repeated
   * call.
   */
  readonly isReplacement?: boolean;
}

interface Uploader extends Pick<UserCaller, "applicationId" | "userId"> {
  /** @see Call.whenGone */
  readonly whenGone?: () => AbortSignal | undefined;
}

/** How often an upload in progress updates its row. */
const touchedMs = 600_000;

export function originalKey(applicationId: string, id: string): string {
  return `${filePrefix(applicationId, id)}original`;
}

/**
 * Stores the bytes of an upload as they arrive, under the id of the future file.
 *
 * @throws ApiError FileUploadFailed, ServiceUnavailable; then nothing remains stored
 */
export async function storeUpload(
  kind: FileKind,
  { applicationId, userId }: UserCaller,
  part: UploadedPart,
  call: UploadCall,
  services: UploadServices,
): Promise<StoredFile> {
  const { database, bytes, pictures, clock, ids } = services;
  const id = ids.newId(kind.idKind);
  const prefix = filePrefix(applicationId, id);
  const mayFit = call.isReplacement === true || call.idempotencyKey !== undefined;
  const free = mayFit ? undefined : await freeQuotaOf(applicationId, userId, database.reads);
  await database
    .write(({ queries }) => putOrphans(applicationId, prefix, clock.now(), queries))
    .catch((error) => {
      // The application was erased after the token check.
      throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
    });

  let length = 0;
  let touchedAt = clock.now();
  async function* countedChunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of part.bytes) {
      length += chunk.length;
      if (free !== undefined && length > free.bytes) throw free.exceeded();
      if (clock.now() - touchedAt > touchedMs) {
        touchedAt = clock.now();
        if (!(await database.write(({ queries }) => touchOrphans(applicationId, prefix, touchedAt, queries)))) {
          throw new ApiError("FileUploadFailed");
        }
      }
      yield chunk;
    }
  }

  // Maintenance deletes bytes whose deletion fails here.
  const discard = () => discardUpload(applicationId, id, prefix, services).catch(() => {});
  try {
    const claimed = { ...part, bytes: countedChunks() };
    const uploader = { applicationId, userId, whenGone: () => call.whenGone?.() };
    return { ...(await writeOriginal(kind, uploader, id, claimed, { bytes, pictures })), discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Erases the bytes stored under a key, unless a file refers to them. */
export async function discardUpload(
  applicationId: string,
  id: string,
  key: string,
  services: Pick<UploadServices, "database" | "bytes">,
): Promise<void> {
  const isErased = await eraseOrphans(applicationId, key, Number.MAX_SAFE_INTEGER, services);
  if (!isErased) await eraseUnreferencedObjects(applicationId, id, services); // the row may be deleted, too
}

/**
 * Writes the bytes of a file and detects their type.
 *
 * @throws ApiError FileUploadFailed when there are no bytes, or no picture; ServiceUnavailable; and errors of the
 * source
 */
export async function writeOriginal(
  kind: FileKind,
  { applicationId, userId, whenGone }: Uploader,
  id: string,
  claimed: ClaimedFile,
  { bytes, pictures }: Pick<UploadServices, "bytes" | "pictures">,
): Promise<Omit<StoredFile, "discard">> {
  const key = originalKey(applicationId, id);
  const hash = createHash("sha256");
  let contentLength = 0;
  let head = Buffer.alloc(0);
  async function* countedChunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of claimed.bytes) {
      hash.update(chunk);
      contentLength += chunk.length;
      if (head.length < sniffedBytes) head = Buffer.concat([head, chunk.subarray(0, sniffedBytes - head.length)]);
      if (kind.isPicture && head.length === sniffedBytes) requirePicture(head);
      yield chunk;
    }
    if (contentLength === 0) throw emptyFile();
  }
  await bytes.write(key, countedChunks(), claimed.signal === undefined ? {} : { signal: claimed.signal });
  const contentType = kind.isPicture ? requirePicture(head) : claimedType(claimed.contentType);
  const turn = { lane: "upload", application: applicationId, caller: userId } as const;
  const size = kind.isPicture
    ? await pictures.readPictureSize(() => bytes.read(key), { ...turn, signal: whenGone?.() })
    : undefined;
  const contentHash = hash.digest("hex");
  const fileName = nameOf(claimed.fileName);
  const digest = JSON.stringify([contentHash, contentType, fileName]);
  return { id, contentType, contentLength, contentHash, fileName, size, digest };
}

export function emptyFile(): ApiError {
  return new ApiError("FileUploadFailed", "The file is empty.");
}

function requirePicture(head: Uint8Array): string {
  const type = sniffPicture(head);
  if (type === undefined) {
    throw new ApiError("FileUploadFailed", "A picture must be a JPEG, PNG, GIF, WebP, AVIF or HEIC.");
  }
  return type;
}

function claimedType(claimed: string): string {
  const type = readMediaType(claimed) ?? "application/octet-stream";
  return type === "image/jpg" ? "image/jpeg" : type;
}

const fileNameCharactersMax = 255;

/** The last segment of a possible path, without characters that are invalid in names. Never used as a storage key. */
function nameOf(given: string | undefined): string | null {
  const last = given?.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const name = [...last.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, "")];
  return name.slice(0, fileNameCharactersMax).join("") || null;
}
