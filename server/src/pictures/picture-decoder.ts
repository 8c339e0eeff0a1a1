import type { Metadata, Sharp, SharpOptions } from "sharp";
import { ApiError } from "../lib/errors.ts";
import { type PictureType, sniffPicture } from "../lib/sniffing.ts";
import { decodeHeic } from "./heic.ts";
import { isUnscalableAnimation } from "./picture-animations.ts";

type Decode = (bytes: Uint8Array, options: SharpOptions) => Sharp;

/** Pixels per frame. Most formats are decoded row by row, so memory stays at a few rows. */
const pixelsMax = 100_000_000;

/**
 * The decoded size of a picture that must fit in memory completely: progressive, rotated by its EXIF, WebP, AVIF, CMYK.
 */
const decodedBytesMax = 200_000_000;

/** The AVIF decoder and encoder hold several copies of a picture in memory (measured). */
const avifCopies = 4;

/** Later frames of an animation are dropped, and so are frames that exceed `decodedBytesMax`. */
const framesMax = 100;

/** A picture within the limits whose pixels have not been decoded yet. */
export interface DecodablePicture {
  readonly contentType: PictureType;
  /** As shown, which is upright. */
  readonly width: number;
  readonly height: number;
  /** A new pipeline that starts at the pixels, upright. Decodes the first `frames` frames of an animation, one by default. */
  decode(options?: { readonly frames?: number }): Sharp;
  /** A new pipeline that decodes every pixel. */
  decodeAll(): Sharp;
  /** How many of its frames may be decoded together. */
  readonly frames: number;
  /** True for an animation of which only the first frame can be decoded. */
  readonly isUnscalable: boolean;
  /** The colours of its pixels, if they are not those of sRGB and the pipeline does not convert them. */
  readonly colours?: "cmyk" | { readonly profile: Uint8Array };
}

/** How strictly a damaged picture is refused; see `doPictureJob`. */
export type Strictness = "error" | "warning";

/** @throws ApiError FileUploadFailed when it is not a picture within the limits; errors of the library */
export async function openPicture(bytes: Buffer, strictness: Strictness): Promise<DecodablePicture> {
  const contentType = sniffPicture(bytes);
  if (contentType === undefined) throw new ApiError("FileUploadFailed", "This is not a picture.");
  const decode = await loadDecoder();
  return contentType === "image/heic" ? openHeic(decode, bytes) : open(decode, bytes, contentType, strictness);
}

let loading: Promise<Decode> | undefined;

/** Loads the library, restricted to the supported formats. */
export function loadDecoder(): Promise<Decode> {
  loading ??= import("sharp").then(({ default: sharp }) => {
    sharp.cache(false); // the same picture is rarely decoded twice
    sharp.concurrency(1);
    // The library supports formats that can reference files, so only these formats are allowed, from memory only.
    sharp.block({ operation: ["VipsForeignLoad"] });
    sharp.unblock({
      operation: ["Jpeg", "Png", "Nsgif", "Webp", "Heif"].map((name) => `VipsForeignLoad${name}Buffer`),
    });
    return sharp;
  });
  return loading;
}

async function open(
  decode: Decode,
  bytes: Buffer,
  contentType: PictureType,
  failOn: Strictness,
): Promise<DecodablePicture> {
  const options: SharpOptions = { failOn, limitInputPixels: pixelsMax };
  const metadata = await decode(bytes, options).metadata();
  const frameHeight = metadata.pageHeight ?? metadata.height;
  const pixels = metadata.width * frameHeight;
  const sampleBytes = metadata.depth === "uchar" ? 1 : 2;
  const frameBytes = pixels * metadata.channels * sampleBytes * (contentType === "image/avif" ? avifCopies : 1);
  const isCmyk = metadata.space === "cmyk" && !metadata.hasProfile;
  const isInMemory = isCmyk || isDecodedInMemory(contentType, metadata);
  if (pixels > pixelsMax || (isInMemory && frameBytes > decodedBytesMax)) throw tooManyPixels();
  const isAnimatable = contentType === "image/gif" || contentType === "image/webp";
  const room = Math.floor(Math.min(decodedBytesMax / frameBytes, pixelsMax / pixels));
  const frames = isAnimatable ? Math.max(1, Math.min(metadata.pages ?? 1, framesMax, room)) : 1;
  const isTurned = (metadata.orientation ?? 1) >= 5;
  return {
    contentType,
    width: metadata.autoOrient.width,
    height: isTurned ? metadata.autoOrient.height : frameHeight,
    frames,
    isUnscalable: isUnscalableAnimation(bytes, contentType),
    ...(isCmyk && { colours: "cmyk" }),
    decode({ frames: wanted = 1 } = {}) {
      const upright = decode(bytes, { ...options, autoOrient: true, pages: wanted });
      return isCmyk ? upright.pipelineColourspace("cmyk").toColourspace("cmyk") : upright;
    },
    // Extracting the last pixel forces all pixels before it to be decoded.
    decodeAll: () =>
      decode(bytes, { ...options, pages: frames }).extract({
        left: metadata.width - 1,
        top: frameHeight - 1,
        width: 1,
        height: 1,
      }),
  };
}

async function openHeic(decode: Decode, bytes: Buffer): Promise<DecodablePicture> {
  const { width, height, pixels, profile } = await decodeHeic(bytes);
  const upright = () => decode(pixels, { raw: { width, height, channels: 3 }, limitInputPixels: pixelsMax });
  return {
    ...({ contentType: "image/heic", width, height, frames: 1, isUnscalable: false } as const),
    ...(profile && { colours: { profile } }),
    decode: upright,
    decodeAll: () => upright().extract({ left: 0, top: 0, width: 1, height: 1 }), // they are decoded
  };
}

function tooManyPixels(): ApiError {
  return new ApiError("FileUploadFailed", "The picture has too many pixels.");
}

function isDecodedInMemory(contentType: PictureType, { isProgressive, orientation = 1 }: Metadata): boolean {
  const isReadByRows = contentType === "image/jpeg" || contentType === "image/png";
  return !isReadByRows || isProgressive || orientation > 1;
}
