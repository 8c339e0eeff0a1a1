import { Readable } from "node:stream";
import type { Database } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Call } from "../http/call.ts";
import { type ByteRange, FileResult } from "../http/file-result.ts";
import type { Clock } from "../lib/clock.ts";
import type { Pictures } from "../pictures/pictures.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { filePrefix, putLooseBytes, takeLooseBytes } from "../storage/loose-bytes.ts";
import { readHeldContent } from "./files.held-content.ts";
import { findLiveFile } from "./files.store.ts";
import { discardUpload, originalKey } from "./files.uploads.ts";

export interface VariantServices {
  readonly database: Database;
  readonly bytes: ByteStore;
  readonly pictures: Pictures;
  readonly clock: Clock;
}

/** A made-over picture: where it is worth it kept beside the original, and deleted with it. */
export async function variantResult(
  file: FileRow,
  name: string,
  isWorthKeeping: boolean,
  { isGone }: Pick<Call, "isGone">,
  services: VariantServices,
  make: (original: Readable, isWanted: () => boolean) => Promise<Buffer>,
): Promise<FileResult> {
  const { application_id, id } = file;
  const key = `${filePrefix(application_id, id)}${name}`;
  const facts = { ...describeFile(file), tag: `${file.content_hash}-${name}` };
  const keptLength = isWorthKeeping ? await services.bytes.size(key) : undefined;
  const kept = (contentLength: number) =>
    new FileResult({ ...facts, contentLength, open: (range) => openStored(file, key, range, services) });
  if (keptLength !== undefined) return kept(keptLength);

  const content = await once(key, isGone ?? (() => false), async (isWanted) =>
    make(await openStored(file, originalKey(application_id, id), undefined, services), isWanted),
  );
  // From the store, so that nobody who reads slowly holds all of it in memory.
  if (isWorthKeeping && (await keep(file, key, content, services).catch(orNoRoom))) return kept(content.length);
  return new FileResult({
    ...facts,
    contentLength: content.length,
    open: async (range = { start: 0, end: content.length }) => readHeldContent(content, range),
  });
}

interface Making {
  readonly content: Promise<Buffer>;
  /** Of each who waits for it, whether it has gone. */
  readonly waiting: (() => boolean)[];
}

const beingMade = new Map<string, Making>();

/** Many who want the same picture at once wait for one that is made, as long as one of them is there. */
function once(key: string, isGone: () => boolean, make: (isWanted: () => boolean) => Promise<Buffer>): Promise<Buffer> {
  const known = beingMade.get(key);
  if (known !== undefined) {
    known.waiting.push(isGone);
    return known.content;
  }
  const waiting = [isGone];
  const content = make(() => !waiting.every((each) => each())).finally(() => beingMade.delete(key));
  beingMade.set(key, { content, waiting });
  return content;
}

/**
 * Stores a variant as uploads are: loose until the file is found to be there still. Whoever deletes the file after that
 * erases the variant with it; so whatever is killed when, nothing is left of a file that is gone.
 *
 * @returns false when it has not been stored, because another request is at it or the file is gone
 */
async function keep(
  { application_id, id }: FileRow,
  key: string,
  content: Buffer,
  { database, bytes, clock }: VariantServices,
): Promise<boolean> {
  const isOurs = await database
    .write(({ queries }) => putLooseBytes(application_id, key, clock.now(), queries))
    .catch((error) => {
      // The application has been erased since the token was checked.
      throw isForeignKeyViolation(error) ? new ApiError("ItemDoesNotExist") : error;
    });
  if (!isOurs) return false;
  let isKept = false;
  try {
    await bytes.write(key, Readable.from([content]));
    isKept = await database.write(async ({ queries }) => {
      const isThere = (await findLiveFile(application_id, id, queries)) !== undefined;
      return isThere && (await takeLooseBytes(application_id, key, queries));
    });
    return isKept;
  } finally {
    // What is left behind all the same is dropped by maintenance.
    if (!isKept) await discardUpload(application_id, id, key, { database, bytes }).catch(() => {});
  }
}

/** What cannot be kept just then can be read all the same. */
function orNoRoom(error: unknown): false {
  if (error instanceof ApiError && error.condition === "ServiceUnavailable") return false;
  throw error;
}

/** Opens the original or a variant. @throws ApiError ItemDoesNotExist when the file has been deleted meanwhile */
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
    // It may have been deleted since it was found; else they are lost, and that is ours.
    if ((await findLiveFile(application_id, id, database.reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    throw error;
  }
}

export function describeFile({ content_type, file_name }: FileRow) {
  return { contentType: content_type, fileName: file_name ?? undefined };
}
