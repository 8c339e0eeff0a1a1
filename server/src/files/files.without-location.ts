import { Readable } from "node:stream";
import { FileResult } from "../contract/file-result.ts";
import type { FileRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";
import { type PictureType, sniffedBytes, sniffPicture } from "../lib/sniffing.ts";
import type { PictureTicket } from "../pictures/picture-queue.ts";
import { madeType } from "../pictures/pictures.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { originalKey } from "./files.uploads.ts";
import { describeFile, openStored, type VariantServices, variantResult } from "./files.variants.ts";

/** A range of bytes of a file: from `start`, inclusive, to `end`, exclusive. */
interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

/** Reads a range of a file; returns fewer bytes only at its end. */
type ReadBytes = (start: number, end: number) => Promise<Buffer>;

/**
 * A box that may contain the location of a recording. Redaction sets its type to `free` and its content to zeros,
 * without changing its length.
 */
interface LocationBox extends ByteSpan {
  /** The offset of its four-byte type. */
  readonly typeAt: number;
}

/** The types of the first box in MP4 and QuickTime files, including older ones. */
const firstTypes: ReadonlySet<string> = new Set([
  "ftyp",
  "styp",
  "moov",
  "mdat",
  "wide",
  "free",
  "skip",
  "pnot",
  "moof",
  "uuid",
]);

/** Whether a file begins like ISO base media (ISO 14496-12) or QuickTime: MP4, MOV, M4A, 3GP, HEIC. */
export function isIsoMedia(head: Buffer): boolean {
  return firstTypes.has(typeAt(head, 4));
}

/** Boxes that contain descriptions, or remnants of them. */
const described: ReadonlySet<string> = new Set(["udta", "meta", "uuid", "free", "skip", "Xtra"]);
/** Boxes whose children are examined. */
const containers: ReadonlySet<string> = new Set(["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"]);
/** Brands of still pictures (HEIC), whose metadata is stored among the bytes of the picture. */
const pictureBrands = /^(hei[cxms]|hev[cxms]|mif1|msf1|avi[fs]|jpeg)$/;
/** Tracks that record locations during the film, as action cameras, phones and dash cameras do. */
const locationTracks = /gpmd|camm|gps|location/i;

const boxesMax = 1_000;
const blankedMax = 500;
const sampleDescriptionBytesMax = 65_536;

/**
 * Finds the boxes of a film that may contain its location. Reads only the headers of boxes, at most a thousand of them.
 *
 * @returns undefined when other parts may contain locations: in a still picture, a location track, or a malformed film
 */
export async function findLocationBoxes(length: number, read: ReadBytes): Promise<readonly LocationBox[] | undefined> {
  const found: LocationBox[] = [];
  let boxes = 0;

  /** @returns false for a file that cannot be cleaned */
  async function walk({ start, end }: ByteSpan): Promise<boolean> {
    for (let at = start; at < end; ) {
      boxes += 1;
      if (boxes > boxesMax) return false;
      const head = await read(at, Math.min(end, at + 16));
      if (head.length < 8) return head.every((byte) => byte === 0); // QuickTime terminates lists of boxes with zeros
      const type = typeAt(head, 4);
      const [headLength, given] = sizeOf(head, end - at);
      if (given < headLength) return false;
      const box = { start: at + headLength, end: Math.min(end, at + given) };
      if (type === "ftyp" && pictureBrands.test(typeAt(await read(box.start, box.start + 4), 0))) return false;
      if (type === "cmov" || type === "gps ") return false; // compressed boxes, or locations of dash cameras
      if (type === "stsd" && !(await isPlaceless(box))) return false;
      if (described.has(type)) {
        if (found.length >= blankedMax) return false;
        found.push({ ...box, typeAt: at + 4 });
      } else if (containers.has(type) && !(await walk(box))) return false;
      at = box.end;
    }
    return true;
  }

  async function isPlaceless({ start, end }: ByteSpan): Promise<boolean> {
    if (end - start > sampleDescriptionBytesMax) return false;
    return !locationTracks.test((await read(start, end)).toString("latin1"));
  }

  return (await walk({ start: 0, end: length })) ? found : undefined;
}

/** @returns the lengths of a box's header and of the complete box */
function sizeOf(head: Buffer, rest: number): [headLength: number, length: number] {
  const size = head.readUInt32BE(0);
  if (size === 0) return [8, rest]; // extends to the end of its parent
  if (size !== 1) return [8, size];
  return head.length < 16 ? [16, 0] : [16, Number(head.readBigUInt64BE(8))];
}

function typeAt(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, at + 4);
}

const freeType = Buffer.from("free");

/** Redacts boxes in a part of a file that begins at offset `at`. */
export function redactBoxes(bytes: Buffer, at: number, boxes: readonly LocationBox[]): void {
  const end = at + bytes.length;
  for (const box of boxes) {
    if (box.typeAt >= end || box.end <= at) continue;
    bytes.fill(
      0,
      Math.max(0, Math.min(bytes.length, box.start - at)),
      Math.max(0, Math.min(bytes.length, box.end - at)),
    );
    for (let n = 0; n < freeType.length; n++) {
      const place = box.typeAt + n - at;
      if (place >= 0 && place < bytes.length) bytes[place] = freeType[n] ?? 0;
    }
  }
}

/**
 * Returns the bytes of a video or a blob for other users while its owner has locationFuzzing: without the location data
 * that cameras write. If none can be found, the application's `locationData` setting decides.
 *
 * @returns undefined for the unchanged bytes
 * @throws ApiError ObjectPermissionDenied for a file that may contain its location and cannot be stripped
 */
export async function resultWithoutLocation(
  file: FileRow,
  ticket: PictureTicket,
  services: VariantServices,
): Promise<FileResult | undefined> {
  const { application_id, content_length } = file;
  const { locationData = "strip" } = await loadApplicationSettings(application_id, services.database.reads);
  if (locationData === "keep") return undefined;
  const content = await recognize(file, services);
  if (content.kind === "picture") {
    const { type } = content;
    const isConverted = madeType(type) !== type; // then the response has another type than the client claimed
    const picture = isConverted ? { ...file, content_type: type } : file;
    return variantResult(picture, "stripped", true, ticket, services, (source, turn) =>
      services.pictures.stripPicture(source, type, turn).catch((error) => {
        throw error instanceof ApiError && error.condition === "FileUploadFailed" ? locationUnknown(error) : error;
      }),
    );
  }
  if (content.kind === "film") {
    return new FileResult({
      ...describeFile(file),
      contentLength: content_length,
      tag: `${file.id}-stripped`,
      async open(range = { start: 0, end: content_length }) {
        const bytes = await openStored(file, originalKey(application_id, file.id), range, services);
        return Readable.from(redacted(bytes, range.start, content.boxes), { objectMode: false });
      },
    });
  }
  if (content.kind === "unknown" && locationData === "strip") return undefined;
  throw locationUnknown();
}

function locationUnknown(cause?: unknown): ApiError {
  const message = "The file may contain the location, which its owner does not share.";
  return new ApiError("ObjectPermissionDenied", message, { cause });
}

async function* redacted(bytes: Readable, start: number, boxes: readonly LocationBox[]): AsyncGenerator<Buffer> {
  let at = start;
  for await (const chunk of bytes) {
    const copy = Buffer.from(chunk);
    redactBoxes(copy, at, boxes);
    at += copy.length;
    yield copy;
  }
}

type Content =
  | { readonly kind: "picture"; readonly type: PictureType }
  | { readonly kind: "film"; readonly boxes: readonly LocationBox[] }
  /** `located` is a format whose location data cannot be found. */
  | { readonly kind: "located" | "unknown" };

/** Cached, because the bytes of a file never change and players request many ranges of it. */
const recognized = new LruMap<string, Content>(1_000);

async function recognize(file: FileRow, services: VariantServices): Promise<Content> {
  const key = `${file.application_id} ${file.id}`;
  const known = recognized.get(key);
  if (known !== undefined) return known;
  const read = bufferedReader(file, services);
  const head = await read(0, sniffedBytes);
  const type = sniffPicture(head);
  const content: Content =
    type !== undefined
      ? { kind: "picture", type }
      : isIsoMedia(head)
        ? ofBoxes(await findLocationBoxes(file.content_length, read))
        : { kind: isTiff(head) ? "located" : "unknown" };
  recognized.set(key, content);
  return content;
}

function ofBoxes(boxes: readonly LocationBox[] | undefined): Content {
  return boxes === undefined ? { kind: "located" } : { kind: "film", boxes };
}

/** The raw formats of most cameras are TIFF, too. */
function isTiff(head: Buffer): boolean {
  return /^(II[*+]\0|MM\0[*+])/.test(head.toString("latin1", 0, 4));
}

const windowBytes = 16_384;

/** Reads small spans of an original, with one request to the store for neighbouring spans. */
function bufferedReader(file: FileRow, services: VariantServices): ReadBytes {
  let window = Buffer.alloc(0);
  let windowAt = 0;
  return async (start, end) => {
    const last = Math.min(end, file.content_length);
    if (start >= last) return Buffer.alloc(0);
    if (start < windowAt || last > windowAt + window.length) {
      const range = { start, end: Math.min(file.content_length, Math.max(last, start + windowBytes)) };
      const key = originalKey(file.application_id, file.id);
      const chunks: Buffer[] = [];
      for await (const chunk of await openStored(file, key, range, services)) chunks.push(chunk);
      window = Buffer.concat(chunks);
      windowAt = start;
    }
    return window.subarray(start - windowAt, last - windowAt);
  };
}
