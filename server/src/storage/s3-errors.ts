import { S3ServiceException } from "@aws-sdk/client-s3";
import { ApiError } from "../lib/errors.ts";

/** True if the store answered with this error code. */
export function isOfS3(error: unknown, code: string): boolean {
  return error instanceof S3ServiceException && error.name === code;
}

/** Sends a request, and translates its errors. */
export async function attempt<T>(sent: Promise<T>, signal?: AbortSignal): Promise<T> {
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
