import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { ApiError } from "../lib/errors.ts";
import { abortable } from "./abortable.ts";
import { type ByteStore, BytesMissing, checkKey, checkPrefix } from "./byte-store.ts";
import { createS3Client, type S3Options } from "./s3-client.ts";

const bytesMax = 8_388_608; // S3 allows 10,000 parts: 80 GiB
const bytesFirst = 65_536;

/** Gathers chunks into one part. Grows with its contents, so that small objects need little memory. */
class PartBuffer {
  #buffer = Buffer.allocUnsafeSlow(bytesFirst);
  #length = 0;

  /** The gathered bytes; valid until `clear`. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  get isFull(): boolean {
    return this.#length === bytesMax;
  }

  /** Adds as much of a chunk as fits. @returns the number of bytes added */
  add(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, bytesMax - this.#length);
    this.#grow(this.#length + taken);
    this.#buffer.set(chunk.subarray(0, taken), this.#length);
    this.#length += taken;
    return taken;
  }

  clear(): void {
    this.#length = 0;
  }

  #grow(length: number): void {
    let size = this.#buffer.length;
    while (size < length) size *= 2;
    if (size === this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.bytes);
    this.#buffer = grown;
  }
}

/** The maximum memory of a part buffer for an object of this size. */
function partBufferBytes(size: number): number {
  return Math.min(2 ** Math.ceil(Math.log2(Math.max(size, bytesFirst))), bytesMax);
}

const undoTimeoutMs = 5_000;

interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

/** Sends an object in one request, or in parts if it does not fit into one. A failed upload stores nothing. */
async function uploadObject(
  client: S3Client,
  object: ObjectName,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal === undefined ? {} : { abortSignal: signal };
  const part = new PartBuffer();
  const parts: { readonly PartNumber: number; readonly ETag: string | undefined }[] = [];
  let upload: (ObjectName & { readonly UploadId: string | undefined }) | undefined;
  let mayBeThere = false;

  async function sendPart(): Promise<void> {
    if (upload === undefined) {
      const { UploadId } = await attempt(client.send(new CreateMultipartUploadCommand(object), options), signal);
      upload = { ...object, UploadId };
    }
    const PartNumber = parts.length + 1;
    const command = new UploadPartCommand({ ...upload, PartNumber, Body: part.bytes });
    const { ETag } = await attempt(client.send(command, options), signal);
    parts.push({ PartNumber, ETag });
    part.clear();
  }

  try {
    for await (const chunk of abortable(bytes, signal)) {
      for (let rest = chunk; rest.length > 0; ) {
        rest = rest.subarray(part.add(rest));
        if (part.isFull) await sendPart();
      }
    }
    if (upload !== undefined && part.bytes.length > 0) await sendPart();
    signal?.throwIfAborted();
    mayBeThere = true; // from here on even if no response arrives
    // Not abortable: the store could execute the request after it was undone.
    if (upload === undefined) {
      await attempt(client.send(new PutObjectCommand({ ...object, Body: part.bytes })));
    } else {
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } });
      await attempt(client.send(command));
    }
    signal?.throwIfAborted();
  } catch (error) {
    const inTime = { abortSignal: AbortSignal.timeout(undoTimeoutMs) };
    // Failures are ignored: `cleanUp`, or a deletion by the caller, removes the rest.
    if (upload !== undefined) await client.send(new AbortMultipartUploadCommand(upload), inTime).catch(() => {});
    if (mayBeThere) await client.send(new DeleteObjectCommand(object), inTime).catch(() => {});
    throw error;
  }
}

/** Aborts the uploads that began before a time, such as those of crashed processes. */
async function abortUploads(
  client: S3Client,
  { Bucket, Prefix }: { readonly Bucket: string; readonly Prefix: string },
  before: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const options = signal === undefined ? {} : { abortSignal: signal };
  let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } | undefined = {};
  while (from !== undefined) {
    const command: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({
      Bucket,
      Prefix,
      ...from,
    });
    const page = await attempt(client.send(command, options), signal).catch((error) => {
      if (isOfS3(error, "NotImplemented")) return undefined; // a bucket rule does it: see docs/run/files.md
      throw error;
    });
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (Initiated === undefined || Initiated.getTime() > before) continue;
      const abort = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
      await attempt(client.send(abort, options), signal).catch((error) => {
        if (!isOfS3(error, "NoSuchUpload")) throw error; // finished, or aborted by another process
      });
    }
    from =
      page?.IsTruncated === true
        ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
        : undefined;
  }
}

const checkTimeoutMs = 5_000;

/**
 * Stores objects in a bucket. Small ones are sent in one request, others in parts; either way the bucket shows the
 * complete object or nothing. Each write holds one part in memory.
 */
export function openS3Store(options: S3Options): ByteStore {
  const { bucket, prefix } = options;
  const client = createS3Client(options);

  async function get(key: string, start: number, end: number | undefined): Promise<Readable> {
    const Range = end === undefined ? undefined : `bytes=${start}-${end - 1}`;
    try {
      const command = new GetObjectCommand({ Bucket: bucket, Key: prefix + key, Range });
      const { Body } = await attempt(client.send(command));
      if (Body instanceof Readable) return Body;
      throw new Error("S3 answered without a stream");
    } catch (error) {
      if (isOfS3(error, "NoSuchKey")) throw new BytesMissing(key, { cause: error });
      if (isOfS3(error, "InvalidRange")) return Readable.from([]);
      throw error;
    }
  }

  return {
    bufferedBytes: partBufferBytes,

    async write(key, bytes, { signal } = {}) {
      checkKey(key);
      signal?.throwIfAborted();
      await uploadObject(client, { Bucket: bucket, Key: prefix + key }, bytes, signal);
    },

    async read(key, range) {
      checkKey(key);
      if (range === undefined) return get(key, 0, undefined);
      if (range.start < range.end) return get(key, range.start, range.end);
      (await get(key, 0, 1)).destroy(); // an empty range still requires that the object exists
      return Readable.from([]);
    },

    async size(key) {
      checkKey(key);
      try {
        const command = new HeadObjectCommand({ Bucket: bucket, Key: prefix + key });
        return (await attempt(client.send(command))).ContentLength;
      } catch (error) {
        if (isOfS3(error, "NotFound")) return undefined; // a HEAD response has no body with a specific code
        throw error;
      }
    },

    async deleteAll(keyPrefix, signal) {
      checkPrefix(keyPrefix);
      let StartAfter: string | undefined; // not page tokens, which may become invalid with the deleted objects
      for (let isMore = true; isMore; ) {
        signal?.throwIfAborted();
        const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix + keyPrefix, StartAfter });
        const { Contents = [], IsTruncated } = await attempt(client.send(list));
        if (Contents.length === 0) return;
        const Objects = Contents.map(({ Key }) => ({ Key }));
        const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } });
        const { Errors = [] } = await attempt(client.send(command));
        if (Errors.length > 0) throw new Error(`S3 did not delete ${Errors.length} objects: ${Errors[0]?.Code}`);
        StartAfter = Contents.at(-1)?.Key;
        isMore = IsTruncated === true;
      }
    },

    async check() {
      const list = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, MaxKeys: 1 });
      await client.send(list, { abortSignal: AbortSignal.timeout(checkTimeoutMs) });
    },

    async cleanUp(olderThanMs, signal) {
      await abortUploads(client, { Bucket: bucket, Prefix: prefix }, Date.now() - olderThanMs, signal);
    },
  };
}

/** True if the store answered with this error code. */
function isOfS3(error: unknown, code: string): boolean {
  return error instanceof S3ServiceException && error.name === code;
}

/** Sends a request, and translates its errors. */
async function attempt<T>(sent: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    signal?.throwIfAborted();
    throw asUnavailable(error);
  }
}

/**
 * Translates transient failures (no connection, a time-out, throttling) to ServiceUnavailable; returns others
 * unchanged.
 */
function asUnavailable(error: unknown): unknown {
  if (error instanceof S3ServiceException) {
    const { httpStatusCode = 500 } = error.$metadata;
    const passes = (httpStatusCode >= 500 && httpStatusCode !== 501) || [408, 429].includes(httpStatusCode);
    return passes ? unavailable(error) : error;
  }
  const isOfNetwork = error instanceof Error && ("code" in error || error.name === "TimeoutError");
  return isOfNetwork ? unavailable(error) : error;
}

function unavailable(cause: unknown): ApiError {
  return new ApiError("ServiceUnavailable", undefined, { cause });
}
