import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Readable } from "node:stream";
import type { ArchiveResult, ByteRange, FileResult } from "../contract/file-result.ts";
import { ApiError } from "../lib/errors.ts";
import { essenceOf } from "../lib/media-types.ts";
import type { Exchange } from "./exchange.ts";

/** For more ranges, the complete file is sent, which is less work. */
const rangesMax = 16;

/**
 * Parses a Range header (RFC 9110 section 14).
 *
 * @returns undefined for the complete file, if the header is absent or not understood; an empty list if no range
 * overlaps the file
 */
function parseRanges(header: string | undefined, length: number): readonly ByteRange[] | undefined {
  const listed = /^bytes=(.*)$/i.exec(header?.trim() ?? "")?.[1];
  if (listed === undefined) return undefined;
  const parts = listed.split(",").map((part) => part.trim());
  const ranges: ByteRange[] = [];
  for (const part of parts) {
    const [, first = "", last = ""] = /^(\d*)-(\d*)$/.exec(part) ?? [];
    if (first === "" && last === "") return undefined;
    if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
    const start = first === "" ? Math.max(0, length - Number(last)) : Number(first);
    const end = first === "" || last === "" ? length : Math.min(length, Number(last) + 1);
    if (start < end) ranges.push({ start, end });
  }
  const asked = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  if (parts.length > rangesMax || asked > length) return undefined; // overlapping ranges exceed the length
  return ranges;
}

/**
 * Sends a file, with ranges and conditional requests. The headers prevent browsers from running uploaded content in the
 * service's origin: the content type is not sniffed, and few types are shown inline.
 *
 * If the file has a URL in a bucket, the client is redirected there for the complete file or a single range. Requests
 * that buckets handle differently (several ranges, invalid ranges, If-Range) are answered here.
 *
 * @param hold counts the memory of the file while it is sent
 * @throws ApiError RangeOutsideFile, errors of `hold`, and errors of opening the file, always before the first byte is
 * sent
 */
export async function sendFile(exchange: Exchange, file: FileResult, hold: () => void): Promise<void> {
  const { headers, method, response } = exchange;
  const etag = `"${file.tag}"`;
  if (isKnown(headers["if-none-match"], etag)) {
    exchange.setHeaders({ ...fileHeaders, etag });
    exchange.send(304);
    return;
  }
  const ifRange = headers["if-range"];
  const ranges = ifRange === undefined || ifRange === etag ? parseRanges(headers.range, file.contentLength) : undefined;
  if (ranges?.length === 0) {
    exchange.setHeader("content-range", `bytes */${file.contentLength}`);
    throw new ApiError("RangeOutsideFile");
  }
  const contentDisposition = dispositionOf(file);
  const isPlain = headers.range === undefined || ranges?.length === 1;
  if (file.locate !== undefined && method === "GET" && isPlain) {
    const { contentType } = file;
    const location = await file.locate({ contentType, contentDisposition, cacheControl: fileHeaders["cache-control"] });
    // The URL grants access to the file, so it must not be cached.
    exchange.setHeaders({ location, "cache-control": "private, no-store" });
    exchange.send(302);
    return;
  }
  if (method !== "HEAD") hold();
  const body = bodyOf(file, ranges);
  const bytes = method === "HEAD" ? undefined : await openAtFirstByte(body.open);
  // Without a time-out, a stalled client would hold the file open.
  response.setTimeout(stalledMs, () => response.destroy());
  const status = ranges === undefined ? 200 : 206;
  exchange.setHeaders({
    ...fileHeaders,
    ...body.headers,
    "content-security-policy": policyOf(file),
    etag,
    "content-length": body.length,
    "content-disposition": contentDisposition,
  });
  if (bytes === undefined) exchange.send(status);
  else await exchange.stream(status, bytes);
}

/**
 * Sends an archive while it is generated. On failure, cuts the connection, so that the client does not take the archive
 * for complete.
 */
export async function sendArchive(exchange: Exchange, { contentType, fileName, open }: ArchiveResult): Promise<void> {
  const { response } = exchange;
  response.setTimeout(silentMs, () => response.destroy());
  exchange.setHeaders({
    ...inertHeaders,
    "cache-control": "no-store",
    "content-type": contentType,
    "content-disposition": `attachment; filename="${fileName}"`,
  });
  if (exchange.method === "HEAD") {
    exchange.setHeader("transfer-encoding", "chunked"); // as in the response to GET, whose length is unknown
    exchange.send(200);
  } else await exchange.stream(200, open());
}

const stalledMs = 60_000;
/** Generating an archive may send nothing for a while, if few of the rows that it reads are relevant. */
const silentMs = 600_000;

const inertHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
};

/**
 * The policy of video and audio files. A browser that opens one in a tab creates a document that loads it from the
 * service's origin. That document contains nothing from the file and runs no scripts.
 */
const playerPolicy = "default-src 'none'; media-src 'self'; sandbox allow-same-origin";

function policyOf({ contentType }: FileResult): string {
  return playedTypes.has(essenceOf(contentType)) ? playerPolicy : inertHeaders["content-security-policy"];
}

const fileHeaders = {
  ...inertHeaders,
  "accept-ranges": "bytes",
  // Shared caches must not store a user's file; browsers revalidate it, because access may have been revoked.
  "cache-control": "private, no-cache",
};

interface Body {
  readonly length: number;
  readonly headers: Readonly<Record<string, string>>;
  open(): Promise<Readable>;
}

function bodyOf(file: FileResult, ranges: readonly ByteRange[] | undefined): Body {
  const { contentType, contentLength } = file;
  const [range, ...others] = ranges ?? [];
  if (range === undefined) {
    return { length: contentLength, headers: { "content-type": contentType }, open: () => file.open() };
  }
  const describe = ({ start, end }: ByteRange) => `bytes ${start}-${end - 1}/${contentLength}`;
  if (others.length === 0) {
    return {
      length: range.end - range.start,
      headers: { "content-type": contentType, "content-range": describe(range) },
      open: () => file.open(range),
    };
  }
  const boundary = randomBytes(18).toString("hex");
  const parts = [range, ...others].map((each) => ({
    range: each,
    head: `\r\n--${boundary}\r\nContent-Type: ${contentType}\r\nContent-Range: ${describe(each)}\r\n\r\n`,
  }));
  const tail = `\r\n--${boundary}--\r\n`;
  async function* all(opened: readonly Readable[]): AsyncGenerator<Uint8Array> {
    for (const [index, { head }] of parts.entries()) {
      yield Buffer.from(head, "latin1");
      yield* opened[index] ?? [];
    }
    yield Buffer.from(tail, "latin1");
  }
  return {
    length: parts.reduce((sum, { range: { start, end }, head }) => sum + head.length + end - start, tail.length),
    headers: { "content-type": `multipart/byteranges; boundary=${boundary}` },
    async open() {
      const opened = await openAll(parts.map((part) => file.open(part.range)));
      return Readable.from(all(opened), { objectMode: false }).once("close", () => {
        for (const part of opened) part.destroy();
      });
    },
  };
}

/**
 * Opens all ranges before the first byte, so that a file that is deleted during the response is sent completely or not
 * at all.
 */
async function openAll(opening: readonly Promise<Readable>[]): Promise<readonly Readable[]> {
  const opened = await Promise.allSettled(opening);
  const failed = opened.find(({ status }) => status === "rejected");
  const parts = opened.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
  for (const part of parts) part.on("error", () => {}); // the iterator over the part throws it
  if (failed?.status !== "rejected") return parts;
  for (const part of parts) part.destroy();
  throw failed.reason;
}

/** Waits for the first byte, because a failure before it can still be reported. */
async function openAtFirstByte(open: () => Promise<Readable>): Promise<Readable> {
  const bytes = await open();
  if (bytes.readableLength === 0 && !bytes.readableEnded) await once(bytes, "readable");
  return bytes;
}

function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((each) => ["*", etag].includes(each.trim().replace(/^W\//, "")));
}

/** Video and audio types that browsers play. */
const playedTypes: ReadonlySet<string> = new Set([
  ...["video/mp4", "video/webm", "video/ogg", "video/quicktime", "video/x-m4v"],
  ...["audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/aac", "audio/ogg", "audio/webm", "audio/flac"],
  ...["audio/wav", "audio/x-wav", "audio/wave"],
]);

/** The types that browsers show inline without running code. Files of other types are downloaded. */
const shownTypes: ReadonlySet<string> = new Set([
  ...["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/heic", "text/plain"],
  ...playedTypes,
]);

/** Builds a Content-Disposition (RFC 6266) with the file name in ASCII and in UTF-8 (RFC 8187). */
function dispositionOf({ contentType, fileName }: FileResult): string {
  const kind = shownTypes.has(essenceOf(contentType)) ? "inline" : "attachment";
  if (fileName === undefined) return kind;
  const plain = fileName.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(fileName.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${exact}`;
}
