import type { Metadata, Sharp, SharpOptions } from "sharp";
import { ApiError } from "../errors.ts";
import { type PictureType, sniffPicture } from "../lib/sniffing.ts";
import { hasEnd } from "./picture-ends.ts";

type Decode = (bytes: Buffer, options: SharpOptions) => Sharp;

/** Of one frame. Most are read row by row, so that the memory is a few rows. */
const pixelsMax = 100_000_000;

/** What a picture may take that has to be in memory as a whole: progressive, turned by its EXIF, WebP, AVIF. */
const decodedBytesMax = 200_000_000;

/** Its decoder and encoder have a picture in memory several times (measured). */
const avifCopies = 4;

/** Later frames of an animation are left out; as many count as also fit into `decodedBytesMax`. */
const framesMax = 100;

/** A picture within the limits whose pixels have not been read yet. */
export interface DecodablePicture {
  readonly contentType: PictureType;
  readonly metadata: Metadata;
  /** A fresh pipeline that starts at the pixels. It reads the first `frames` of an animation, one when not told. */
  decode(options?: { readonly autoOrient?: boolean; readonly frames?: number }): Sharp;
  /** How many frames of it may be decoded at once. */
  readonly frames: number;
}

/** @throws ApiError FileUploadFailed when it is not a whole picture within the limits; what the library throws */
export async function openPicture(bytes: Buffer): Promise<DecodablePicture> {
  const contentType = sniffPicture(bytes);
  if (contentType === undefined) throw new ApiError("FileUploadFailed", "This is no picture.");
  if (!hasEnd(bytes, contentType)) throw new ApiError("FileUploadFailed", "The picture is cut off.");
  return open(await loadDecoder(), bytes, contentType);
}

let loading: Promise<Decode> | undefined;

/** Loads the library, for the formats that we read and nothing else. */
export function loadDecoder(): Promise<Decode> {
  loading ??= import("sharp").then(({ default: sharp }) => {
    sharp.cache(false); // no picture is the same twice
    sharp.concurrency(1);
    // The library reads many formats, among them such that name files; ours alone, and from memory alone.
    sharp.block({ operation: ["VipsForeignLoad"] });
    sharp.unblock({
      operation: ["Jpeg", "Png", "Nsgif", "Webp", "Heif"].map((name) => `VipsForeignLoad${name}Buffer`),
    });
    return sharp;
  });
  return loading;
}

async function open(decode: Decode, bytes: Buffer, contentType: PictureType): Promise<DecodablePicture> {
  // A broken checksum or a cut end fails; an odd comment, as cameras write them, does not.
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
