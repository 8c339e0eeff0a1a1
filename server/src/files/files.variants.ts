import { Readable } from "node:stream";
import { type ByteRange, FileResult } from "../contract/file-result.ts";
import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { FileRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { PictureTicket } from "../pictures/picture-queue.ts";
import { madeType, type PictureSource, type Pictures } from "../pictures/pictures.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { claimOrphans, filePrefix, putOrphans } from "../storage/orphaned-objects.ts";
import { findLiveFile } from "./files.store.ts";
import { discardUpload, originalKey } from "./files.uploads.ts";

/** Total memory for content that slow readers receive. One larger item is accepted when no other is in memory. */
const heldBytesMax = 134_217_728;
const pieceBytes = 65_536;

let heldBytes = 0;

/**
 * Returns content that stays in memory until its reader has received it or has disconnected.
 *
 * @throws ApiError ServiceUnavailable when other readers use too much memory
 */
function readHeldContent(content: Buffer, { start, end }: ByteRange): Readable {
  if (heldBytes > 0 && heldBytes + content.length > heldBytesMax) {
    throw new ApiError("ServiceUnavailable", "Too many pictures are in progress. Try again.");
  }
  function* pieces(): Generator<Buffer> {
    for (let at = start; at < end; at += pieceBytes) yield content.subarray(at, Math.min(end, at + pieceBytes));
  }
  heldBytes += content.length;
  const bytes = Readable.from(pieces(), { objectMode: false, highWaterMark: pieceBytes });
  bytes.once("close", () => {
    heldBytes -= content.length;
  });
  return bytes;
}

export interface VariantServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly clock: Clock;
}

/** Returns a variant of a picture. A worthwhile one is stored with the original, and deleted with it. */
export async function variantResult(
  file: FileRow,
  name: string,
  isWorthStoring: boolean,
  ticket: PictureTicket,
  services: VariantServices,
  make: (original: PictureSource, ticket: PictureTicket) => Promise<Buffer>,
): Promise<FileResult> {
  const { application_id, id } = file;
  const key = `${filePrefix(application_id, id)}${name}`;
  // Not derived from the hash of the original: that would let a client verify guesses about the stripped metadata.
  const facts = { ...describeVariant(file), tag: `${id}-${name}` };
  const storedLength = isWorthStoring ? await services.bytes.size(key) : undefined;
  const fromStore = (contentLength: number) =>
    new FileResult({ ...facts, contentLength, open: (range) => openStored(file, key, range, services) });
  if (storedLength !== undefined) return fromStore(storedLength);

  const open = () => openStored(file, originalKey(application_id, id), undefined, services);
  const content = await makeOnce(key, ticket, (shared) => make(open, shared));
  // Served from the store, so that slow readers do not occupy memory.
  if (isWorthStoring && (await storeVariant(file, key, content, services).catch(ignoreLackOfSpace)))
    return fromStore(content.length);
  return new FileResult({
    ...facts,
    contentLength: content.length,
    open: async (range = { start: 0, end: content.length }) => readHeldContent(content, range),
  });
}

interface Making {
  readonly content: Promise<Buffer>;
  /** Adds a waiting request; the work is aborted when the last one disconnects. */
  join(signal: AbortSignal | undefined): void;
}

const beingMade = new Map<string, Making>();

/**
 * Makes a picture once for all concurrent requests for it. Lanes do not share, because a caller with a token must not
 * wait in the lane of signed URLs.
 */
async function makeOnce(
  key: string,
  ticket: PictureTicket,
  make: (ticket: PictureTicket) => Promise<Buffer>,
): Promise<Buffer> {
  const shared = `${ticket.lane} ${key}`;
  const known = beingMade.get(shared);
  if (known === undefined) return startMaking(shared, ticket, make);
  known.join(ticket.signal);
  try {
    return await known.content;
  } catch (error) {
    // The first request may have lost its queue slot, which does not concern this caller.
    if (error instanceof ApiError && error.condition === "ServiceUnavailable") return make(ticket);
    throw error;
  }
}

function startMaking(
  shared: string,
  ticket: PictureTicket,
  make: (ticket: PictureTicket) => Promise<Buffer>,
): Promise<Buffer> {
  const abandoned = new AbortController();
  let waiting = 0;
  function leave(): void {
    waiting -= 1;
    if (waiting === 0) abandoned.abort();
  }
  function join(signal: AbortSignal | undefined): void {
    waiting += 1;
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  }
  join(ticket.signal);
  const content = make({ ...ticket, signal: abandoned.signal }).finally(() => beingMade.delete(shared));
  beingMade.set(shared, { content, join });
  return content;
}

/**
 * Stores a variant as an orphaned object, like an upload, until a check shows that its file still exists. Deleting the
 * file later erases the variant, so a killed process leaves nothing of a deleted file.
 *
 * @returns false when it was not stored, because a concurrent request stores it or the file no longer exists
 */
async function storeVariant(
  { application_id, id }: FileRow,
  key: string,
  content: Buffer,
  { database, bytes, clock }: VariantServices,
): Promise<boolean> {
  const isClaimed = await database
    .write(({ queries }) => putOrphans(application_id, key, clock.now(), queries))
    .catch((error) => {
      // The application was erased after the token check.
      throw isForeignKeyViolation(error) ? new ApiError("ItemDoesNotExist") : error;
    });
  if (!isClaimed) return false;
  let isStored = false;
  try {
    await bytes.write(key, Readable.from([content]));
    isStored = await database.write(async ({ queries }) => {
      const isThere = (await findLiveFile(application_id, id, queries)) !== undefined;
      return isThere && (await claimOrphans(application_id, key, queries));
    });
    return isStored;
  } finally {
    // Maintenance deletes objects whose deletion fails here.
    if (!isStored) await discardUpload(application_id, id, key, { database, bytes }).catch(() => {});
  }
}

/** A variant that does not fit into the store can still be served. */
function ignoreLackOfSpace(error: unknown): false {
  if (error instanceof ApiError && error.condition === "ServiceUnavailable") return false;
  throw error;
}

/** Opens the original or a variant. @throws ApiError ItemDoesNotExist when the file has been deleted */
export async function openStored(
  { application_id, id }: FileRow,
  key: string,
  range: ByteRange | undefined,
  { database, bytes }: Pick<VariantServices, "database" | "bytes">,
): Promise<Readable> {
  try {
    return await bytes.read(key, range);
  } catch (error) {
    if (!(error instanceof BytesMissing)) throw error;
    // Either the file was deleted since the lookup, or its bytes are lost, which is a server error.
    if ((await findLiveFile(application_id, id, database.reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    throw error;
  }
}

/** Like {@link describeFile}, with the type in which pictures are made. */
function describeVariant({ content_type, file_name }: Pick<FileRow, "content_type" | "file_name">) {
  const contentType = madeType(content_type);
  const name = file_name ?? undefined;
  return { contentType, fileName: contentType === content_type ? name : name?.replace(/(\.hei[cf])?$/i, ".jpg") };
}

export function describeFile({ content_type, file_name }: FileRow) {
  return { contentType: content_type, fileName: file_name ?? undefined };
}
