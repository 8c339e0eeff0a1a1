import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { ApiError } from "../errors.ts";
import type { StoredUpload, UploadedPart } from "../http/call.ts";
import type { UserCaller } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { sniffedBytes, sniffPicture } from "../lib/sniffing.ts";
import type { PictureSize } from "../pictures/picture-job.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { ByteStore } from "../storage/byte-store.ts";
import {
  eraseLooseBytes,
  eraseUntakenBytes,
  filePrefix,
  putLooseBytes,
  touchLooseBytes,
} from "../storage/loose-bytes.ts";
import { roomOf } from "../storage/usage.ts";
import type { FileKind } from "./files.kinds.ts";

/** What is known of bytes that have been stored, and that a file is going to have. */
export interface StoredFile extends StoredUpload {
  readonly id: string;
  readonly contentType: string;
  readonly contentLength: number;
  /** SHA-256, in lower-case hex. */
  readonly contentHash: string;
  readonly fileName: string | null;
  readonly size: PictureSize | undefined;
}

/** The bytes of a file, and what their sender says of them. */
export type ClaimedFile = Omit<UploadedPart, "signal"> & { readonly signal?: AbortSignal };

export interface UploadServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}

/** So often an upload that goes on says so. */
const touchedMs = 600_000;

export function originalKey(applicationId: string, id: string): string {
  return `${filePrefix(applicationId, id)}original`;
}

/**
 * Stores the bytes of an upload while they arrive, under the id of the file that is to have them.
 *
 * @throws ApiError FileUploadFailed, ServiceUnavailable; then nothing stays stored
 */
export async function storeUpload(
  kind: FileKind,
  { applicationId, userId }: UserCaller,
  part: UploadedPart,
  mayBeRepeat: boolean,
  services: UploadServices,
): Promise<StoredFile> {
  const { database, bytes, pictures, clock, ids } = services;
  const id = ids.newId(kind.idKind);
  const prefix = filePrefix(applicationId, id);
  const room = mayBeRepeat ? undefined : await roomOf(applicationId, userId, database.reads);
  await database
    .write(({ queries }) => putLooseBytes(applicationId, prefix, clock.now(), queries))
    .catch((error) => {
      // The application has been erased since the token was checked.
      throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
    });

  let length = 0;
  let touchedAt = clock.now();
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const chunk of part.bytes) {
      length += chunk.length;
      if (room !== undefined && length > room.bytes) throw room.exceeded();
      if (clock.now() - touchedAt > touchedMs) {
        touchedAt = clock.now();
        if (!(await database.write(({ queries }) => touchLooseBytes(applicationId, prefix, touchedAt, queries)))) {
          throw new ApiError("FileUploadFailed");
        }
      }
      yield chunk;
    }
  }

  // Bytes that are left behind all the same are dropped by maintenance.
  const discard = () => discardUpload(applicationId, id, prefix, services).catch(() => {});
  try {
    const claimed = { ...part, bytes: passing() };
    return { ...(await writeOriginal(kind, applicationId, id, claimed, { bytes, pictures })), discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/** Erases what has been stored under a key for a file, unless the file has taken it. */
export async function discardUpload(
  applicationId: string,
  id: string,
  key: string,
  services: Pick<UploadServices, "database" | "bytes">,
): Promise<void> {
  const isErased = await eraseLooseBytes(applicationId, key, Number.MAX_SAFE_INTEGER, services);
  if (!isErased) await eraseUntakenBytes(applicationId, id, services); // the row may have gone with the application
}

/**
 * Writes the bytes of a file, and finds out what they are.
 *
 * @throws ApiError FileUploadFailed when they are none, or no picture; ServiceUnavailable; and what their source throws
 */
export async function writeOriginal(
  kind: FileKind,
  applicationId: string,
  id: string,
  claimed: ClaimedFile,
  { bytes, pictures }: Pick<UploadServices, "bytes" | "pictures">,
): Promise<Omit<StoredFile, "discard">> {
  const key = originalKey(applicationId, id);
  const hash = createHash("sha256");
  let contentLength = 0;
  let head = Buffer.alloc(0);
  async function* passing(): AsyncGenerator<Uint8Array> {
    for await (const chunk of claimed.bytes) {
      hash.update(chunk);
      contentLength += chunk.length;
      if (head.length < sniffedBytes) head = Buffer.concat([head, chunk.subarray(0, sniffedBytes - head.length)]);
      if (kind.isPicture && head.length === sniffedBytes) requirePicture(head);
      yield chunk;
    }
    if (contentLength === 0) throw emptyFile();
  }
  await bytes.write(key, passing(), claimed.signal === undefined ? {} : { signal: claimed.signal });
  const contentType = kind.isPicture ? requirePicture(head) : claimedType(claimed.contentType);
  const size = kind.isPicture ? await pictures.readPictureSize(await bytes.read(key)) : undefined;
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
    throw new ApiError("FileUploadFailed", "A picture must be a JPEG, PNG, GIF, WebP or AVIF.");
  }
  return type;
}

const contentTypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

function claimedType(claimed: string): string {
  const type = claimed.trim().toLowerCase();
  if (type === "image/jpg") return "image/jpeg";
  return contentTypePattern.test(type) ? type : "application/octet-stream";
}

const fileNameCharactersMax = 255;

/** The last part of what may be a path, without what has no place in a name. Nothing is stored under it. */
function nameOf(given: string | undefined): string | null {
  const last = given?.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const name = [...last.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, "")];
  return name.slice(0, fileNameCharactersMax).join("") || null;
}
