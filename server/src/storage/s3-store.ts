import { Readable } from "node:stream";
import { DeleteObjectsCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { type ByteStore, BytesMissing, checkKey, checkPrefix } from "./byte-store.ts";
import { partBufferBytes } from "./part-buffer.ts";
import { createS3Client, type S3Options } from "./s3-client.ts";
import { attempt, isOfS3 } from "./s3-errors.ts";
import { abortUploads, uploadObject } from "./s3-uploads.ts";

const checkTimeoutMs = 5_000;

/**
 * Keeps objects in a bucket. Small ones are sent in one request, others in parts; either way the bucket shows the whole
 * object or none. Each write holds one part in memory.
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
