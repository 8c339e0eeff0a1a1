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
import { type BlankedBox, blankBoxes, findLocationBoxes, isIsoMedia, type ReadBytes } from "./location-boxes.ts";

/**
 * The bytes of a video or a blob for other users while its owner has locationFuzzing: without the location data that
 * cameras write. `locationData` of the application decides about files in which it cannot be found.
 *
 * @returns undefined for the bytes as they are
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
    const isConverted = madeType(type) !== type; // then the claimed type is wrong for what is sent
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
        return Readable.from(blanked(bytes, range.start, content.boxes), { objectMode: false });
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

async function* blanked(bytes: Readable, start: number, boxes: readonly BlankedBox[]): AsyncGenerator<Buffer> {
  let at = start;
  for await (const chunk of bytes) {
    const copy = Buffer.from(chunk);
    blankBoxes(copy, at, boxes);
    at += copy.length;
    yield copy;
  }
}

type Content =
  | { readonly kind: "picture"; readonly type: PictureType }
  | { readonly kind: "film"; readonly boxes: readonly BlankedBox[] }
  /** `located` is a format whose location data cannot be found. */
  | { readonly kind: "located" | "unknown" };

/** Cached because the bytes of a file never change and players request many ranges of it. */
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

function ofBoxes(boxes: readonly BlankedBox[] | undefined): Content {
  return boxes === undefined ? { kind: "located" } : { kind: "film", boxes };
}

/** Most cameras' raw pictures are TIFF as well. */
function isTiff(head: Buffer): boolean {
  return /^(II[*+]\0|MM\0[*+])/.test(head.toString("latin1", 0, 4));
}

const windowBytes = 16_384;

/** Reads small spans of an original, and asks the store only for spans that are not near the previous one. */
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
