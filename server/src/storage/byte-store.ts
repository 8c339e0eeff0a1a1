import type { Readable } from "node:stream";
import type { SentHeaders } from "../contract/file-result.ts";

/**
 * The store of the files' bytes: a folder, or an S3-compatible store. Keys are paths of names made of letters, digits,
 * `_`, `-` and `.` (not first): `<application id>/<file id>/<name>`.
 */
export interface ByteStore {
  /**
   * Writes or replaces a complete object; it is durable when this resolves. If it rejects, or the process dies, the
   * object does not exist. Errors of the source and the reason of an abort are passed on unchanged.
   *
   * @throws ApiError ServiceUnavailable if the disk is full or the store is unreachable
   */
  write(key: string, bytes: AsyncIterable<Uint8Array>, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** The number of bytes of an object of this size that are in memory while it is written; 0 for hardly any. */
  bufferedBytes(size: number): number;
  /**
   * Reads the bytes from `start` (inclusive) to `end` (exclusive), up to the end of the object, or all. Continues to
   * the end if the object is deleted during the read. The caller must read or destroy the stream, which holds a file or
   * a connection.
   *
   * @throws BytesMissing if there is no such object
   * @throws ApiError ServiceUnavailable if the store is unreachable
   */
  read(key: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** Returns the size of an object, or undefined without an object. @throws ApiError ServiceUnavailable like `read` */
  size(key: string): Promise<number | undefined>;
  /**
   * Returns a URL that allows reading the object for a limited time, also in ranges, and makes the store send these
   * headers. Does not check that the object exists. Absent unless downloads redirect to the store (FILES_DOWNLOAD).
   */
  presign?(key: string, lifetimeSeconds: number, headers: SentHeaders): Promise<string>;
  /**
   * Deletes every object whose key has this prefix: a file with its variants, or all of an application. Succeeds
   * without any object. Can be aborted and repeated.
   */
  deleteAll(prefix: string, signal?: AbortSignal): Promise<void>;
  /**
   * Checks that objects can be listed, with one request.
   *
   * @throws Error of the system or of the store with the reason
   */
  check(): Promise<void>;
  /**
   * Deletes the remains of interrupted writes (temporary files, unfinished multipart uploads) that are older than
   * `olderThanMs`. A write that has been in progress for longer fails.
   */
  cleanUp(olderThanMs: number, signal?: AbortSignal): Promise<void>;
}

/** No object has this key. */
export class BytesMissing extends Error {
  constructor(key: string, options?: { cause?: unknown }) {
    super(`there are no bytes ${key}`, options);
    this.name = "BytesMissing";
  }
}

/** Validates a key. Keys are made by the server, never by clients; this is a safeguard. @throws RangeError */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new RangeError("not a key of bytes");
}

export function isKey(text: string): boolean {
  return keyPattern.test(text) && text.length <= keyCharactersMax;
}

/** Validates a key or a prefix of keys; the empty prefix is refused. @throws RangeError */
export function checkPrefix(prefix: string): void {
  checkKey(prefix.endsWith("/") ? prefix.slice(0, -1) : prefix);
}

// No name begins with a dot: this excludes `..` and the folder of temporary files.
const keyPattern = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}(\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199})*$/;
const keyCharactersMax = 800; // S3 allows 1,024, including the deployment's prefix
