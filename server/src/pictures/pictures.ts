import type { Readable } from "node:stream";
import type { Sharp } from "sharp";
import { ApiError } from "../errors.ts";
import type { PictureType } from "../lib/sniffing.ts";
import { type DecodablePicture, withPicture } from "./picture-decoder.ts";

/** In pixels. */
export interface PictureSize {
  readonly w: number;
  readonly h: number;
}

export interface ScaledPicture extends PictureSize {
  readonly contentType: PictureType;
  readonly bytes: Buffer;
}

/**
 * The size as shown, which is the stored one turned by the EXIF orientation, of a picture that is read to its end: a
 * damaged one has none (surface.md section 10). @throws ApiError FileUploadFailed, ServiceUnavailable
 */
export function readPictureSize(bytes: Readable): Promise<PictureSize> {
  return withPicture(bytes, async ({ metadata, decode, frames }) => {
    // The last pixel alone is kept; all before it have to be decoded to get there.
    const frameHeight = metadata.pageHeight ?? metadata.height;
    await decode({ frames })
      .extract({ left: metadata.width - 1, top: frameHeight - 1, width: 1, height: 1 })
      .raw()
      .toBuffer();
    const { width, height } = metadata.autoOrient;
    const isTurned = (metadata.orientation ?? 1) >= 5;
    return { w: width, h: isTurned ? height : frameHeight };
  });
}

/**
 * The picture in the same format, scaled to fit and never up, upright, without metadata (where it was taken, by which
 * camera), an animation with its first frames. @throws ApiError FileUploadFailed, ServiceUnavailable
 */
export function scalePicture(bytes: Readable, contentType: string, fit: PictureSize): Promise<ScaledPicture> {
  return withPicture(bytes, async (picture) => {
    requireType(picture, contentType);
    const upright = picture.decode({ autoOrient: true, frames: picture.frames });
    const scaled = upright.resize(fit.w, fit.h, { fit: "inside", withoutEnlargement: true });
    return encode(picture, scaled, 80);
  });
}

/**
 * The same picture upright and without metadata: what others see when its owner does not tell where they are.
 * @throws ApiError FileUploadFailed, ServiceUnavailable
 */
export function stripPicture(bytes: Readable, contentType: string): Promise<Buffer> {
  return withPicture(bytes, async (picture) => {
    requireType(picture, contentType);
    const upright = picture.decode({ autoOrient: true, frames: picture.frames });
    const stripped = await encode(picture, upright, 90);
    return stripped.bytes;
  });
}

/** What is answered under the stored type is of that type. */
function requireType(picture: DecodablePicture, contentType: string): void {
  if (picture.contentType !== contentType) {
    throw new ApiError("FileUploadFailed", `The picture is ${picture.contentType}, not ${contentType}.`);
  }
}

/** Metadata is not copied unless asked for; colours are converted to those that are meant without a profile. */
async function encode({ contentType }: DecodablePicture, pixels: Sharp, quality: number): Promise<ScaledPicture> {
  const encoded = inFormat[contentType](pixels, quality);
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { contentType, bytes: data, w: info.width, h: info.pageHeight ?? info.height };
}

const inFormat: Record<PictureType, (pixels: Sharp, quality: number) => Sharp> = {
  // The best codes are known only when the whole picture is in memory; the usual ones are nearly as good.
  "image/jpeg": (pixels, quality) => pixels.jpeg({ quality, optimiseCoding: false }),
  "image/png": (pixels) => pixels.png(),
  "image/gif": (pixels) => pixels.gif({ effort: 3 }),
  "image/webp": (pixels, quality) => pixels.webp({ quality, effort: 2 }),
  // As good to the eye as the others at a lower number; more effort would take seconds.
  "image/avif": (pixels, quality) => pixels.avif({ quality: quality - 20, effort: 1, chromaSubsampling: "4:2:0" }),
};
