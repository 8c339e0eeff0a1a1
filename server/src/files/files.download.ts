import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Database } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { type ByteRange, FileResult } from "../http/file-result.ts";
import { type PictureSize, scalePicture, stripPicture } from "../pictures/pictures.ts";
import { type ByteStore, BytesMissing } from "../storage/byte-store.ts";
import { filePrefix } from "../storage/loose-bytes.ts";
import { findLiveFile } from "./files.store.ts";
import { originalKey } from "./files.uploads.ts";

export interface DownloadServices {
  readonly database: Database;
  readonly bytes: ByteStore;
}

/**
 * The bytes of a file as somebody gets them: its own, and of a picture, where it is asked for, scaled ones. What a camera
 * writes into a picture tells where it was taken: while its owner has locationFuzzing, others get it without that.
 *
 * @param isOwner whether the owner asks
 * @throws ApiError ParameterOutOfRange, ParameterIncorrectFormat for the size
 */
export async function fileResult(
  file: FileRow,
  isOwner: boolean,
  size: string | undefined,
  services: DownloadServices,
): Promise<FileResult> {
  const fit = size === undefined ? undefined : parseFit(size);
  const { width, height } = file;
  if (width !== null && height !== null) {
    const scaled = fit && sizeWithin({ w: width, h: height }, fit);
    if (scaled !== undefined) return variantResult(file, `v-${scaled.w}x${scaled.h}`, isKept(scaled), services, scale);
    if (!isOwner && (await hasFuzzing(file, services.database))) {
      return variantResult(file, "stripped", true, services, (bytes) => stripPicture(bytes, file.content_type));
    }
    async function scale(bytes: Readable): Promise<Buffer> {
      return (await scalePicture(bytes, file.content_type, scaled ?? { w: 1, h: 1 })).bytes; // called where there is one
    }
  }
  return new FileResult({
    ...describe(file),
    contentLength: file.content_length,
    tag: file.content_hash,
    open: (range) => openOriginal(file, range, services),
  });
}

function describe({ content_type, file_name }: FileRow) {
  return { contentType: content_type, fileName: file_name ?? undefined };
}

async function openOriginal(
  { application_id, id }: FileRow,
  range: ByteRange | undefined,
  { database, bytes }: DownloadServices,
): Promise<Readable> {
  try {
    return await bytes.read(originalKey(application_id, id), range);
  } catch (error) {
    if (!(error instanceof BytesMissing)) throw error;
    // It may have been deleted since it was found; else they are lost, and that is ours.
    if ((await findLiveFile(application_id, id, database.reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    throw error;
  }
}

/** A made-over picture: kept beside the original, and deleted with it. */
async function variantResult(
  file: FileRow,
  name: string,
  isWorthKeeping: boolean,
  services: DownloadServices,
  make: (original: Readable) => Promise<Buffer>,
): Promise<FileResult> {
  const { database, bytes } = services;
  const { application_id, id } = file;
  const key = `${filePrefix(application_id, id)}${name}`;
  const kept = isWorthKeeping ? await readKept(key, bytes) : undefined;
  const content = kept ?? (await make(await openOriginal(file, undefined, services)));
  if (kept === undefined && isWorthKeeping) {
    await bytes.write(key, Readable.from([content]));
    // Of a file that has been deleted meanwhile nothing may be left.
    const isThere = (await findLiveFile(application_id, id, database.reads)) !== undefined;
    if (!isThere) await bytes.deleteAll(filePrefix(application_id, id));
  }
  return new FileResult({
    ...describe(file),
    contentLength: content.length,
    tag: `${file.content_hash}-${name}`,
    open: async ({ start, end } = { start: 0, end: content.length }) => Readable.from([content.subarray(start, end)]),
  });
}

async function readKept(key: string, bytes: ByteStore): Promise<Buffer | undefined> {
  try {
    return await buffer(await bytes.read(key));
  } catch (error) {
    if (error instanceof BytesMissing) return undefined;
    throw error;
  }
}

const sidePixelsMax = 16_384;

/** @throws ApiError ParameterOutOfRange, ParameterIncorrectFormat */
export function parseFit(text: string): PictureSize {
  const [, first, second] = /^\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?$/.exec(text) ?? [];
  if (first === undefined) throw new ApiError("ParameterIncorrectFormat", "size must be <n> or <w>,<h>.");
  const [w, h] = [Number(first), Number(second ?? first)];
  if (Math.min(w, h) < 1 || Math.max(w, h) > sidePixelsMax) {
    throw new ApiError("ParameterOutOfRange", `size must be from 1 to ${sidePixelsMax}.`);
  }
  return { w, h };
}

/** @returns undefined when it fits as it is */
export function sizeWithin({ w, h }: PictureSize, fit: PictureSize): PictureSize | undefined {
  const share = Math.min(fit.w / w, fit.h / h);
  if (share >= 1) return undefined;
  return { w: Math.max(1, Math.round(w * share)), h: Math.max(1, Math.round(h * share)) };
}

const keptPixelsMax = 2_048;

/** Only round sizes are kept, so that nobody fills the store by asking for every size there is. */
function isKept({ w, h }: PictureSize): boolean {
  const longer = Math.max(w, h);
  return longer <= keptPixelsMax && (longer % 10 === 0 || longer % 16 === 0);
}

async function hasFuzzing({ application_id, user_id }: FileRow, database: Database): Promise<boolean> {
  const owner = await database.reads
    .selectFrom("users")
    .select("location_fuzzing")
    .where("application_id", "=", application_id)
    .where("id", "=", user_id)
    .executeTakeFirst();
  return owner?.location_fuzzing !== 0;
}
