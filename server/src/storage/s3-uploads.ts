import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { abortable } from "./abortable.ts";
import { PartBuffer } from "./part-buffer.ts";
import { attempt, isOfS3 } from "./s3-errors.ts";

const undoTimeoutMs = 5_000;

interface ObjectName {
  readonly Bucket: string;
  readonly Key: string;
}

/** Sends an object in one request, or in parts if it does not fit into one. A failed upload leaves nothing. */
export async function uploadObject(
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

/** Aborts the uploads that began before a time, such as those of processes that have crashed. */
export async function abortUploads(
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
      if (isOfS3(error, "NotImplemented")) return undefined; // a bucket rule does it: see docs/operations/files.md
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
