import type { Metadata, Sharp, SharpOptions } from "sharp";
import { ApiError } from "../errors.ts";
import { type PictureType, sniffPicture } from "../lib/sniffing.ts";
import { hasEnd } from "./picture-ends.ts";

type Decode = (bytes: Buffer, options: SharpOptions) => Sharp;

/** Pixels per frame. Most formats are decoded row by row, so memory stays at a few rows. */
const pixelsMax = 100_000_000;

/** The decoded size of a picture that must be in memory as a whole: progressive, rotated by its EXIF, WebP, AVIF. */
const decodedBytesMax = 200_000_000;

/** The AVIF decoder and encoder hold several copies of a picture in memory (measured). */
const avifCopies = 4;

/** Later frames of an animation are dropped, as are those that exceed `decodedBytesMax`. */
const framesMax = 100;

/** A picture within the limits whose pixels have not been decoded yet. */
export interface DecodablePicture {
  readonly contentType: PictureType;
  readonly metadata: Metadata;
  /** A new pipeline that starts at the pixels. Decodes the first `frames` frames of an animation, one by default. */
  decode(options?: { readonly autoOrient?: boolean; readonly frames?: number }): Sharp;
  /** How many of its frames may be decoded at once. */
  readonly frames: number;
}

/** @throws ApiError FileUploadFailed when it is not a complete picture within the limits; errors of the library */
export async function openPicture(bytes: Buffer): Promise<DecodablePicture> {
  const contentType = sniffPicture(bytes);
  if (contentType === undefined) throw new ApiError("FileUploadFailed", "This is not a picture.");
  if (!hasEnd(bytes, contentType)) throw new ApiError("FileUploadFailed", "The picture is incomplete.");
  return open(await loadDecoder(), bytes, contentType);
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

async function open(decode: Decode, bytes: Buffer, contentType: PictureType): Promise<DecodablePicture> {
  // A broken checksum or a truncated file fails; the unusual comments that cameras write do not.
  const options: SharpOptions = { failOn: "error", limitInputPixels: pixelsMax };
  const metadata = await decode(bytes, options).metadata();
  const frameHeight = metadata.pageHeight ?? metadata.height;
  const pixels = metadata.width * frameHeight;
  const sampleBytes = metadata.depth === "uchar" ? 1 : 2;
  const frameBytes = pixels * metadata.channels * sampleBytes * (contentType === "image/avif" ? avifCopies : 1);
  if (pixels > pixelsMax || (isDecodedWhole(contentType, metadata) && frameBytes > decodedBytesMax)) {
    throw new ApiError("FileUploadFailed", "The picture has too many pixels.");
  }
  const isAnimatable = contentType === "image/gif" || contentType === "image/webp";
  const room = Math.floor(Math.min(decodedBytesMax / frameBytes, pixelsMax / pixels));
  return {
    contentType,
    metadata,
    frames: isAnimatable ? Math.max(1, Math.min(metadata.pages ?? 1, framesMax, room)) : 1,
    decode: ({ autoOrient = false, frames = 1 } = {}) => decode(bytes, { ...options, autoOrient, pages: frames }),
  };
}

function isDecodedWhole(contentType: PictureType, { isProgressive, orientation = 1 }: Metadata): boolean {
  const isReadByRows = contentType === "image/jpeg" || contentType === "image/png";
  return !isReadByRows || isProgressive || orientation > 1;
}
