import { S3ServiceException } from "@aws-sdk/client-s3";
import { ApiError } from "../errors.ts";

/** True for what the store itself answered under this code. */
export function isOfS3(error: unknown, code: string): boolean {
  return error instanceof S3ServiceException && error.name === code;
}

/** ServiceUnavailable for what passes (no connection, no answer in time, too busy); anything else as it is. */
export function asUnavailable(error: unknown): unknown {
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
