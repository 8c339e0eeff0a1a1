import { S3Client } from "@aws-sdk/client-s3";

/** A bucket and the credentials for it. */
export interface S3Options {
  readonly bucket: string;
  /** Endpoint of an S3-compatible store; undefined for AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** The prefix of all keys of this deployment: empty, or ending in a slash. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const connectTimeoutMs = 3_000;
const requestTimeoutMs = 20_000; // until the response begins, long enough for a part; up to three attempts
const idleTimeoutMs = 60_000; // for a download that its client does not read
const connectionsMax = 1_000; // every running download holds one

/** Does not connect before the first request. */
export function createS3Client({ endpoint, region, accessKeyId, secretAccessKey }: S3Options): S3Client {
  return new S3Client({
    region,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 3,
    ...(endpoint === undefined
      ? {}
      : // Compatible stores need path-style buckets, and some do not support the newer checksums.
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
