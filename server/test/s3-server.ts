import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import S3rver, { type Context } from "s3rver";
import { signatureOf } from "./s3-signature.ts";

/** A real S3-compatible server on this machine with one bucket. */
export interface S3Server {
  /** The value of FILES_URL, without a prefix. */
  readonly url: string;
  readonly keys: { readonly awsAccessKeyId: string; readonly awsSecretAccessKey: string };
  /** Lists the keys of all objects with this prefix, a thousand at most. */
  listKeys(prefix: string): Promise<string[]>;
  /** Lists the ids of multipart uploads that are neither complete nor aborted. */
  listUploads(): string[];
  close(): Promise<void>;
}

const bucket = "files";
/** Fewer than the thousand of other servers, so that a test needs few objects for several pages. */
const pageKeys = 100;
const key = "S3RVER"; // the only one that s3rver accepts

export async function startS3Server(directory: string): Promise<S3Server> {
  const uploads = join(directory, bucket, "._S3rver_uploads");
  const listUploads = () => (existsSync(uploads) ? readdirSync(uploads) : []);
  const server = new S3rver({
    address: "127.0.0.1",
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  // Adds what s3rver lacks: the check of signatures, two operations, and page tokens that work with OpenSSL 3.
  server.middleware.unshift(async (context, next) => {
    if ("X-Amz-Signature" in context.query && !isSigned(context)) {
      answer(context, 403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
    } else if (context.method === "GET" && !existsSync(join(directory, context.path.split("/")[1] ?? ""))) {
      answer(context, 404, "<Error><Code>NoSuchBucket</Code></Error>");
    } else if (context.method === "GET" && "list-type" in context.query) await listObjects(context, server);
    else if (context.method === "GET" && "uploads" in context.query) listOpenUploads(context, uploads, listUploads());
    else if (context.method === "DELETE" && "uploadId" in context.query) abortUpload(context, uploads);
    else await next();
  });
  finishWrites(server.store, directory);
  const { port } = await server.run();
  return {
    url: `s3://${bucket}?endpoint=http://127.0.0.1:${port}`,
    keys: { awsAccessKeyId: key, awsSecretAccessKey: key },
    async listKeys(prefix) {
      const { objects } = await server.store.listObjects(bucket, { prefix, startAfter: "", maxKeys: 1_000 });
      return objects.map(({ key }) => key);
    },
    listUploads,
    close: () => server.close(),
  };
}

/** Waits for the files: s3rver answers once it has received all bytes, which may not be in their file yet. */
function finishWrites(store: S3rver["store"], directory: string): void {
  const putObject = store.putObject.bind(store);
  const putPart = store.putPart.bind(store);
  async function finish(file: string, size: number): Promise<void> {
    const until = Date.now() + 5_000; // another request may have replaced or deleted the object
    while (statSync(file, { throwIfNoEntry: false })?.size !== size && Date.now() < until) await setTimeout(2);
  }
  store.putObject = async (object) => {
    const put = await putObject(object);
    await finish(join(directory, object.bucket, `${object.key}._S3rver_object`), put.size);
    return put;
  };
  store.putPart = async (bucket, uploadId, partNumber, content) => {
    const put = await putPart(bucket, uploadId, partNumber, content);
    await finish(join(directory, bucket, "._S3rver_uploads", uploadId, String(partNumber)), put.size);
    return put;
  };
}

function isSigned({ method, href }: Context): boolean {
  const url = new URL(href);
  return url.searchParams.get("X-Amz-Signature") === signatureOf(method, url, key);
}

async function listObjects(context: Context, { store }: S3rver): Promise<void> {
  const prefix = context.query["prefix"] ?? "";
  const startAfter = context.query["start-after"] ?? "";
  const { objects, isTruncated } = await store.listObjects(bucket, { prefix, startAfter, maxKeys: pageKeys });
  const items = objects.map(({ key }) => `<Contents><Key>${key}</Key></Contents>`).join("");
  answer(context, 200, `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${items}</ListBucketResult>`);
}

function listOpenUploads(context: Context, folder: string, ids: readonly string[]): void {
  const items = ids.map((id) => {
    const key = readFileSync(join(folder, id, "key"), "utf8");
    const initiated = statSync(join(folder, id, "key")).mtime.toISOString();
    return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`;
  });
  answer(
    context,
    200,
    `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${items.join("")}</ListMultipartUploadsResult>`,
  );
}

function abortUpload(context: Context, folder: string): void {
  const upload = join(folder, String(context.query["uploadId"]));
  const isThere = existsSync(upload);
  rmSync(upload, { recursive: true, force: true });
  answer(context, isThere ? 204 : 404, isThere ? "" : "<Error><Code>NoSuchUpload</Code></Error>");
}

function answer(context: Context, status: number, xml: string): void {
  context.type = "application/xml";
  context.body = xml;
  context.status = status;
}
