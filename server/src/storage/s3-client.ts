import { S3Client } from "@aws-sdk/client-s3";

/** Which bucket, and who we are there. */
export interface S3Options {
  readonly bucket: string;
  /** Address of an S3-compatible store; undefined means AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** What all keys of this deployment begin with: empty, or ending in a slash. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 20_000; // until the answer begins: time enough for a part; tried up to three times
const idleTimeoutMs = 60_000; // of a download that its client does not read
const connectionsMax = 1_000; // every download that is under way holds one

/** Connects to nothing before it is asked something. */
export function createS3Client({ endpoint, region, accessKeyId, secretAccessKey }: S3Options): S3Client {
  return new S3Client({
    region,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 3,
    ...(endpoint === undefined
      ? {}
      : // Compatible stores know buckets by path, and not all of them know the newer checksums.
        ({ endpoint, forcePathStyle: true, requestChecksumCalculation: "WHEN_REQUIRED" } as const)),
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: idleTimeoutMs,
      httpAgent: { keepAlive: true, maxSockets: connectionsMax },
      httpsAgent: { keepAlive: true, maxSockets: connectionsMax },
    },
  });
}
