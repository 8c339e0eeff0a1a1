import type { Readable } from "node:stream";
import type { SentHeaders } from "../http/file-result.ts";

/**
 * Where the bytes of files lie: a folder, or an S3-compatible store. Keys are paths of names made of letters, digits, `_`,
 * `-` and `.` (not first): `<application id>/<file id>/<name>`.
 */
export interface ByteStore {
  /**
   * Writes a whole object, or replaces one; it is durable when this resolves. When it rejects, or the process dies, there
   * is no such object. What the source throws, and the reason of the abort, come out as they are.
   *
   * @throws ApiError ServiceUnavailable when the disk is full or the store is out of reach
   */
  write(key: string, bytes: AsyncIterable<Uint8Array>, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * The bytes from `start` (inclusive) to `end` (exclusive) as far as there are any, or all. Goes on to its end when the
   * object is deleted meanwhile. Read it or destroy it: it holds a file or a connection.
   *
   * @throws BytesMissing when there is no such object
   * @throws ApiError ServiceUnavailable when the store is out of reach
   */
  read(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** How many bytes an object has; undefined when there is none. @throws ApiError ServiceUnavailable like `read` */
  size(key: string): Promise<number | undefined>;
  /**
   * An address where whoever has it can read the object for so long, sent under these headers, in ranges too. Does not look
   * whether there is one. Only where clients are to be sent there (FILES_DOWNLOAD).
   */
  presign?(key: string, lifetimeSeconds: number, headers: SentHeaders): Promise<string>;
  /**
   * Deletes every object whose key begins so: a file with its variants, all of an application. Also when there is none.
   * Can be broken off, and begun again.
   */
  deleteAll(prefix: string, signal?: AbortSignal): Promise<void>;
  /**
   * Drops what interrupted writes have left (temporary files, unfinished multipart uploads) and is older than this. A write
   * that is still under way by then fails.
   */
  cleanUp(olderThanMs: number, signal?: AbortSignal): Promise<void>;
}

/** There is no object of this key. */
export class BytesMissing extends Error {
  constructor(key: string, options?: { cause?: unknown }) {
    super(`there are no bytes ${key}`, options);
    this.name = "BytesMissing";
  }
}

/** Keys are made by callers, never by clients; this makes sure of it. @throws RangeError */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new RangeError("not a key of bytes");
}

export function isKey(text: string): boolean {
  return keyPattern.test(text) && text.length <= keyCharactersMax;
}

/** A key, or the beginning of keys; never all keys. @throws RangeError */
export function checkPrefix(prefix: string): void {
  checkKey(prefix.endsWith("/") ? prefix.slice(0, -1) : prefix);
}

// No name begins with a dot: not `..`, and not the folder of temporary files.
const keyPattern = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}(\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199})*$/;
const keyCharactersMax = 800; // S3 takes 1,024 with the prefix of the deployment
