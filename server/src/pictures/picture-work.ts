import type { Sharp } from "sharp";
import { ApiError } from "../lib/errors.ts";
import type { PictureType } from "../lib/sniffing.ts";
import { stripPng } from "./picture-animations.ts";
import { type DecodablePicture, loadDecoder, openPicture, type Strictness } from "./picture-decoder.ts";
import type { PictureJob, PictureSize } from "./picture-job.ts";

/**
 * Converts CMYK without a profile as browsers do. The library would assume the inks of a printing press, whose colours
 * differ widely from those in browsers.
 *
 * @param pixels four bytes each
 */
function rgbOfCmyk(pixels: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((pixels.length / 4) * 3);
  for (let from = 0, to = 0; from < pixels.length; from += 4, to += 3) {
    const white = 255 - (pixels[from + 3] ?? 0);
    for (let ink = 0; ink < 3; ink += 1) rgb[to + ink] = Math.round(((255 - (pixels[from + ink] ?? 0)) * white) / 255);
  }
  return rgb;
}

const startOfImage = Buffer.from([0xff, 0xd8]);
/** A segment has at most 65,535 bytes with its length; each part of a profile has a head of 14 bytes in it. */
const partBytesMax = 65_519;

/** Adds an ICC profile to a JPEG, in as many segments as it takes. */
function withProfile(jpeg: Buffer, profile: Uint8Array): Buffer {
  const count = Math.ceil(profile.length / partBytesMax);
  const segments = Array.from({ length: count }, (_, index) => {
    const part = profile.subarray(index * partBytesMax, (index + 1) * partBytesMax);
    const head = Buffer.from("\xff\xe2..ICC_PROFILE\0..", "latin1");
    head.writeUInt16BE(head.length - 2 + part.length, 2);
    head.writeUInt8(index + 1, head.length - 2);
    head.writeUInt8(count, head.length - 1);
    return Buffer.concat([head, part]);
  });
  return Buffer.concat([startOfImage, ...segments, jpeg.subarray(startOfImage.length)]);
}

interface DonePicture extends PictureSize {
  /** Empty when only the size was requested, or the picture cannot be scaled. */
  readonly bytes: Buffer;
  readonly isUnscalable?: true;
}

const nothing = Buffer.alloc(0);
const jpegEnd = Buffer.from([0xff, 0xd9]);

/**
 * Does the job in the decoder process, where it may crash. The decoder decides whether all pixels are there, because
 * cameras and broken transfers omit end marks: PNG and GIF do not need theirs to decode the last pixel, and a JPEG gets
 * one. With an end mark, the decoder would fill a truncated picture with grey, and only warn; other warnings, of
 * comments that cameras write, are tolerated in a JPEG that has its mark.
 *
 * @throws ApiError FileUploadFailed for common faults of the picture; errors of the library
 */
export async function doPictureJob(job: PictureJob, bytes: Buffer): Promise<DonePicture> {
  try {
    return await doOnce(job, bytes, "error");
  } catch (error) {
    if (error instanceof ApiError || bytes.readUInt16BE(0) !== 0xffd8) throw error;
    return doOnce(job, Buffer.concat([bytes, jpegEnd]), "warning");
  }
}

async function doOnce(job: PictureJob, bytes: Buffer, strictness: Strictness): Promise<DonePicture> {
  const picture = await openPicture(bytes, strictness);
  const { contentType, width: w, height: h, isUnscalable } = picture;
  if (job.kind === "size") {
    await picture.decodeAll().raw().toBuffer();
    return { w, h, bytes: nothing };
  }
  // The result is served under a type that follows from the stored one.
  if (contentType !== job.contentType) {
    throw new ApiError("FileUploadFailed", `The picture is ${contentType}, not ${job.contentType}.`);
  }
  if (isUnscalable && job.kind === "scale") return { w, h, bytes: nothing, isUnscalable };
  if (isUnscalable && contentType === "image/png") return { w, h, bytes: stripPng(bytes) };
  const upright = picture.decode({ frames: picture.frames });
  if (job.kind === "strip") return encode(picture, upright, 90);
  const scaled = upright.resize(job.fit.w, job.fit.h, { fit: "inside", withoutEnlargement: true });
  return encode(picture, scaled, 80);
}

/** The library drops metadata by default, and converts colours to sRGB so that they are right without a profile. */
async function encode(picture: DecodablePicture, pixels: Sharp, quality: number): Promise<DonePicture> {
  const encoded = inFormat[picture.contentType](await inSrgb(picture, pixels), quality);
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { bytes: data, w: info.width, h: info.pageHeight ?? info.height };
}

/** Converts colours that the library cannot convert in one pipeline. */
async function inSrgb({ colours }: DecodablePicture, pixels: Sharp): Promise<Sharp> {
  if (colours === undefined) return pixels;
  const decode = await loadDecoder();
  if (colours === "cmyk") {
    const { data, info } = await pixels.raw().toBuffer({ resolveWithObject: true });
    return decode(rgbOfCmyk(data), { raw: { width: info.width, height: info.height, channels: 3 } });
  }
  const jpeg = await pixels.jpeg({ quality: 100, chromaSubsampling: "4:4:4" }).toBuffer();
  return decode(withProfile(jpeg, colours.profile), {});
}

const jpeg = (pixels: Sharp, quality: number) => pixels.jpeg({ quality, optimiseCoding: false });

const inFormat: Record<PictureType, (pixels: Sharp, quality: number) => Sharp> = {
  // Optimal coding needs the complete picture in memory; the default tables are nearly as good.
  "image/jpeg": jpeg,
  "image/png": (pixels) => pixels.png(),
  "image/gif": (pixels) => pixels.gif({ effort: 3 }),
  "image/webp": (pixels, quality) => pixels.webp({ quality, effort: 2 }),
  // AVIF needs a lower number for the same visual quality; more effort would take seconds.
  "image/avif": (pixels, quality) => pixels.avif({ quality: quality - 20, effort: 1, chromaSubsampling: "4:2:0" }),
  "image/heic": jpeg,
};
