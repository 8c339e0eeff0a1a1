import type { Readable } from "node:stream";
import type { Database } from "../db/database.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Call } from "../http/call.ts";
import { FileResult } from "../http/file-result.ts";
import type { PictureSize } from "../pictures/picture-job.ts";
import { originalKey } from "./files.uploads.ts";
import { describeFile, openStored, type VariantServices, variantResult } from "./files.variants.ts";

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
  call: Call,
  services: VariantServices,
): Promise<FileResult> {
  const fit = size === undefined ? undefined : parseFit(size);
  const { width, height } = file;
  if (width !== null && height !== null) {
    const scaled = fit && sizeWithin({ w: width, h: height }, fit);
    if (scaled !== undefined)
      return variantResult(file, `v-${scaled.w}x${scaled.h}px`, isKept(scaled), call, services, scale);
    if (!isOwner && (await hasFuzzing(file, services.database))) {
      return variantResult(file, "stripped", true, call, services, (bytes, isWanted) =>
        services.pictures.stripPicture(bytes, file.content_type, isWanted),
      );
    }
    async function scale(bytes: Readable, isWanted: () => boolean): Promise<Buffer> {
      const to = scaled ?? { w: 1, h: 1 }; // called where there is one
      return (await services.pictures.scalePicture(bytes, file.content_type, to, isWanted)).bytes;
    }
  }
  return new FileResult({
    ...describeFile(file),
    contentLength: file.content_length,
    tag: file.content_hash,
    open: (range) => openStored(file, originalKey(file.application_id, file.id), range, services),
    locate: locateOriginal(file, services),
  });
}

/** What has been allowed until then can be begun for so long. */
const presignedSeconds = 300;

/** Only originals: made-over ones are made when they are asked for. */
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
