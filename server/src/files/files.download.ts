import type { Call } from "../contract/call.ts";
import { FileResult } from "../contract/file-result.ts";
import type { Database } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { PictureSize } from "../pictures/picture-job.ts";
import type { PictureTicket } from "../pictures/picture-queue.ts";
import { madeType, type PictureSource } from "../pictures/pictures.ts";
import { findFuzzedOwners } from "./files.store.ts";
import { originalKey } from "./files.uploads.ts";
import { describeFile, openStored, type VariantServices, variantResult } from "./files.variants.ts";
import { resultWithoutLocation } from "./files.without-location.ts";

/** The client that downloads a file, identified for fair queueing of picture decoding. */
export interface FileReader {
  /** Whether the reader is the owner of the file, or an operator who sees the same. */
  readonly isOwner: boolean;
  /** Whether the reader must not get original bytes, not even of a picture smaller than the requested size. */
  readonly isWithoutOriginal?: boolean;
  readonly lane: "read" | "link";
  readonly caller: string;
}

/**
 * Returns the bytes of a file: the original or, for a picture, a scaled variant on request. Camera metadata reveals
 * where a picture was taken, so other users receive it stripped while the owner has locationFuzzing.
 *
 * @throws ApiError ParameterOutOfRange, ParameterIncorrectFormat for the size; ObjectPermissionDenied for a video or
 * blob whose location data cannot be removed
 */
export async function fileResult(
  file: FileRow,
  reader: FileReader,
  size: string | undefined,
  call: Pick<Call, "whenGone">,
  services: VariantServices,
): Promise<FileResult> {
  const fit = size === undefined ? undefined : parseFit(size);
  const { width, height } = file;
  const { isOwner, isWithoutOriginal = false, lane, caller } = reader;
  const ticket = { lane, application: file.application_id, caller, signal: call.whenGone?.() };
  if (width !== null && height !== null) {
    const scaled = fit && sizeWithin({ w: width, h: height }, fit);
    const found = scaled && (await scaledResult(file, scaled, ticket, services));
    if (found !== undefined) return found;
    // Browsers open links, and few of them display HEIC.
    const isConverted = madeType(file.content_type) !== file.content_type && (fit !== undefined || lane === "link");
    if (isConverted || isWithoutOriginal || (!isOwner && (await hasFuzzing(file, services.database)))) {
      return variantResult(file, "stripped", true, ticket, services, (source, turn) =>
        services.pictures.stripPicture(source, file.content_type, turn),
      );
    }
  }
  if (width === null && !isOwner && (await hasFuzzing(file, services.database))) {
    const shown = await resultWithoutLocation(file, ticket, services);
    if (shown !== undefined) return shown;
  }
  if (isWithoutOriginal) throw new ApiError("ObjectPermissionDenied");
  return new FileResult({
    ...describeFile(file),
    contentLength: file.content_length,
    tag: file.content_hash,
    open: (range) => openStored(file, originalKey(file.application_id, file.id), range, services),
    locate: locateOriginal(file, services),
  });
}

class Unscalable extends Error {}

/** Files that turned out to be unscalable when they were read. */
const unscalable = new LruMap<string, true>(1_000);

/** @returns undefined for an animation that would lose its frames */
async function scaledResult(
  file: FileRow,
  size: PictureSize,
  ticket: PictureTicket,
  services: VariantServices,
): Promise<FileResult | undefined> {
  const key = `${file.application_id} ${file.id}`;
  if (unscalable.get(key)) return undefined;
  async function scale(source: PictureSource, turn: PictureTicket): Promise<Buffer> {
    const made = await services.pictures.scalePicture(source, file.content_type, size, turn);
    if (made === undefined) throw new Unscalable();
    return made.bytes;
  }
  try {
    return await variantResult(file, `v-${size.w}x${size.h}px`, isStoredSize(size), ticket, services, scale);
  } catch (error) {
    if (!(error instanceof Unscalable)) throw error;
    unscalable.set(key, true);
    return undefined;
  }
}

/** How long a presigned URL may be used to start a download. */
const presignedSeconds = 300;

/** Only originals have a URL in the store; variants are made on request. */
function locateOriginal(
  { application_id, id }: FileRow,
  { bytes }: Pick<VariantServices, "bytes">,
): FileResult["locate"] {
  const { presign } = bytes;
  return presign && ((headers) => presign(originalKey(application_id, id), presignedSeconds, headers));
}

const sidePixelsMax = 16_384;

/** @throws ApiError ParameterOutOfRange, ParameterIncorrectFormat */
export function parseFit(text: string): PictureSize {
  const [, first, second] = /^\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?$/.exec(text) ?? [];
  if (first === undefined)
    throw new ApiError("ParameterIncorrectFormat", "size must be <n> or <w>,<h>.", { parameter: "size" });
  const [w, h] = [Number(first), Number(second ?? first)];
  if (Math.min(w, h) < 1 || Math.max(w, h) > sidePixelsMax) {
    throw new ApiError("ParameterOutOfRange", `size must be from 1 to ${sidePixelsMax}.`, { parameter: "size" });
  }
  return { w, h };
}

/** @returns undefined when the picture already fits */
export function sizeWithin({ w, h }: PictureSize, fit: PictureSize): PictureSize | undefined {
  const share = Math.min(fit.w / w, fit.h / h);
  if (share >= 1) return undefined;
  return { w: Math.max(1, Math.round(w * share)), h: Math.max(1, Math.round(h * share)) };
}

const storedPixelsMax = 2_048;

/** Stores only common sizes, so that requests for arbitrary sizes cannot fill the store. */
function isStoredSize({ w, h }: PictureSize): boolean {
  const longer = Math.max(w, h);
  return longer <= storedPixelsMax && (longer % 10 === 0 || longer % 16 === 0);
}

async function hasFuzzing({ application_id, user_id }: FileRow, database: Database): Promise<boolean> {
  return (await findFuzzedOwners(application_id, [user_id], database.reads)).has(user_id);
}
