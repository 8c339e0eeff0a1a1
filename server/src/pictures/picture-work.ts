import type { Sharp } from "sharp";
import { ApiError } from "../errors.ts";
import type { PictureType } from "../lib/sniffing.ts";
import { type DecodablePicture, openPicture } from "./picture-decoder.ts";
import type { PictureJob, PictureSize } from "./picture-job.ts";

interface DonePicture extends PictureSize {
  /** Empty when only the size was requested. */
  readonly bytes: Buffer;
}

/**
 * Does the job in the decoder process, where it may crash.
 *
 * @throws ApiError FileUploadFailed for known faults of the picture; errors of the library
 */
export async function doPictureJob(job: PictureJob, bytes: Buffer): Promise<DonePicture> {
  const picture = await openPicture(bytes);
  if (job.kind === "size") return { ...(await readSize(picture)), bytes: Buffer.alloc(0) };
  // The result is served under the stored type, so the bytes must be of that type.
  if (picture.contentType !== job.contentType) {
    throw new ApiError("FileUploadFailed", `The picture is ${picture.contentType}, not ${job.contentType}.`);
  }
  const upright = picture.decode({ autoOrient: true, frames: picture.frames });
  if (job.kind === "strip") return encode(picture, upright, 90);
  const scaled = upright.resize(job.fit.w, job.fit.h, { fit: "inside", withoutEnlargement: true });
  return encode(picture, scaled, 80);
}

async function readSize({ metadata, decode, frames }: DecodablePicture): Promise<PictureSize> {
  // Extracting the last pixel forces all pixels before it to be decoded.
  const frameHeight = metadata.pageHeight ?? metadata.height;
  await decode({ frames })
    .extract({ left: metadata.width - 1, top: frameHeight - 1, width: 1, height: 1 })
    .raw()
    .toBuffer();
  const { width, height } = metadata.autoOrient;
  const isTurned = (metadata.orientation ?? 1) >= 5;
  return { w: width, h: isTurned ? height : frameHeight };
}

/** The library drops metadata by default, and converts colours to sRGB so that they are right without a profile. */
async function encode({ contentType }: DecodablePicture, pixels: Sharp, quality: number): Promise<DonePicture> {
  const encoded = inFormat[contentType](pixels, quality);
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { bytes: data, w: info.width, h: info.pageHeight ?? info.height };
}

const inFormat: Record<PictureType, (pixels: Sharp, quality: number) => Sharp> = {
  // Optimal coding needs the whole picture in memory; the default tables are nearly as good.
  "image/jpeg": (pixels, quality) => pixels.jpeg({ quality, optimiseCoding: false }),
  "image/png": (pixels) => pixels.png(),
  "image/gif": (pixels) => pixels.gif({ effort: 3 }),
  "image/webp": (pixels, quality) => pixels.webp({ quality, effort: 2 }),
  // AVIF needs a lower number for the same visual quality; more effort would take seconds.
  "image/avif": (pixels, quality) => pixels.avif({ quality: quality - 20, effort: 1, chromaSubsampling: "4:2:0" }),
};
