import type { Readable } from "node:stream";
import type { Metadata, Sharp, SharpOptions } from "sharp";
import { ApiError } from "../errors.ts";
import { type PictureType, sniffPicture } from "../lib/sniffing.ts";
import { lowerThreadPoolPriority } from "../lib/thread-priority.ts";
import { hasEnd } from "./picture-ends.ts";
import { enqueuePicture } from "./picture-queue.ts";

type Decode = (bytes: Buffer, options: SharpOptions) => Sharp;

/** The compressed bytes are in memory, one picture's at a time. */
const pictureBytesMax = 64 * 1_024 * 1_024;

/** Of one frame. Most are read row by row, so that the memory is a few rows. */
const pixelsMax = 100_000_000;

/** What a picture may take that has to be in memory as a whole: progressive, turned by its EXIF, WebP, AVIF. */
const decodedBytesMax = 200_000_000;

/** Its decoder and encoder have a picture in memory several times (measured). */
const avifCopies = 4;

/** Later frames of an animation are left out; as many count as also fit into `decodedBytesMax`. */
const framesMax = 100;

const arrivalTimeoutMs = 30_000;
const processingTimeoutSeconds = 20;

/** A picture within the limits whose pixels have not been read yet. */
export interface DecodablePicture {
  readonly contentType: PictureType;
  readonly metadata: Metadata;
  /** A fresh pipeline that starts at the pixels. It reads the first `frames` of an animation, one when not told. */
  decode(options?: { readonly autoOrient?: boolean; readonly frames?: number }): Sharp;
  /** How many frames of it may be decoded at once. */
  readonly frames: number;
}

/**
 * Reads the bytes, which come from a store and not from a client that may be slow, and lets the job decode them, one
 * picture at a time. Leaves the stream destroyed. @throws ApiError FileUploadFailed when they are not a whole picture
 * within the limits, ServiceUnavailable when too many already wait
 */
export async function withPicture<T>(bytes: Readable, job: (picture: DecodablePicture) => Promise<T>): Promise<T> {
  bytes.on("error", ignore); // one that fails while it waits is told when it is read
  try {
    return await enqueuePicture(async () => {
      const collected = await collect(bytes);
      const contentType = sniffPicture(collected);
      if (contentType === undefined) throw new ApiError("FileUploadFailed", "This is no picture.");
      if (!hasEnd(collected, contentType)) throw new ApiError("FileUploadFailed", "The picture is cut off.");
      const decode = await loadDecoder();
      return await refuseFaults(async () => job(await open(decode, collected, contentType)));
    });
  } finally {
    bytes.destroy();
  }
}

function ignore(): void {}

async function collect(bytes: Readable): Promise<Buffer> {
  const timer = setTimeout(() => bytes.destroy(new Error("The bytes of a picture did not arrive")), arrivalTimeoutMs);
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of bytes) {
      const part = Buffer.from(chunk);
      length += part.length;
      if (length > pictureBytesMax) throw new ApiError("FileUploadFailed", "The picture has too many bytes.");
      chunks.push(part);
    }
    return Buffer.concat(chunks, length);
  } finally {
    clearTimeout(timer);
  }
}

let loading: Promise<Decode> | undefined;

/** Loaded with the first picture: whoever stores none pays nothing at the start and no memory. */
function loadDecoder(): Promise<Decode> {
  loading ??= import("sharp").then(({ default: sharp }) => {
    sharp.cache(false); // no picture is the same twice
    sharp.concurrency(1);
    // The library reads many formats, among them such that name files; ours alone, and from memory alone.
    sharp.block({ operation: ["VipsForeignLoad"] });
    sharp.unblock({
      operation: ["Jpeg", "Png", "Nsgif", "Webp", "Heif"].map((name) => `VipsForeignLoad${name}Buffer`),
    });
    lowerThreadPoolPriority(); // the import has started the pool's threads, and the library's own inherit theirs
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
    decode: ({ autoOrient = false, frames = 1 } = {}) =>
      decode(bytes, { ...options, autoOrient, pages: frames }).timeout({ seconds: processingTimeoutSeconds }),
  };
}

function isDecodedWhole(contentType: PictureType, { isProgressive, orientation = 1 }: Metadata): boolean {
  const isReadByRows = contentType === "image/jpeg" || contentType === "image/png";
  return !isReadByRows || isProgressive || orientation > 1;
}

/** Whatever the library cannot read, or not in time, is the fault of the picture. */
async function refuseFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("FileUploadFailed", "The picture is damaged or too large.", { cause: error });
  }
}
