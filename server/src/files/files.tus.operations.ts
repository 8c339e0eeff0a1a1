import type { EndpointOperation, HeaderDescription } from "../contract/endpoint.ts";
import type { ErrorCondition } from "../lib/errors.ts";

export const tusPath = "/files/uploads";
export const tusVersion = "1.0.0";
export const bytesType = "application/offset+octet-stream";

const required = (description: string): HeaderDescription => ({ isRequired: true, description });
const optional = (description: string): HeaderDescription => ({ isRequired: false, description });

const version = { "Tus-Resumable": required(tusVersion) };
const checksum = {
  "Upload-Checksum": optional("sha1, sha256 or md5, a space, and the checksum of this request's bytes in base64."),
};
const metadata =
  "Names, each with a value in base64, separated by commas: kind (picture, video or blob), filename, filetype, and " +
  "the parameters of the kind's creation.";
const contentLocation = "The path of the file, once it is one.";
const expiry = "The time at which an incomplete upload is dropped.";

const always = [
  ...(["AuthAccessTokenInvalid", "AuthUserAccessTokenRequired", "AuthAPICallDisabledByDeveloper"] as const),
  ...(["AuthUserAccountDisabled", "AuthSignatureInvalid", "RateLimitExceeded", "HttpsRequired"] as const),
  "UploadVersionUnsupported",
  ...(["ParameterIncorrectFormat", "ServiceUnavailable", "InternalError"] as const),
] satisfies ErrorCondition[];
const ofBytes = [
  ...(["ParameterMissingRequiredValue", "ParameterOutOfRange", "FileUploadFailed"] as const),
  ...(["RequestTooLarge", "UploadChecksumMismatch", "UploadOffsetConflict"] as const),
] satisfies ErrorCondition[];

const uploadPath = `${tusPath}/{uploadId}`;

/** Resumable uploads: tus 1.0 with creation, creation-with-upload, expiration, checksum and termination. */
export const tusOperations: readonly EndpointOperation[] = [
  {
    method: "POST",
    path: tusPath,
    operation: "createUpload",
    summary: "Create a resumable upload of a picture, video or blob (tus 1.0), optionally with its first bytes",
    description: "Needs the size of the whole file. The answer has the URL for the bytes.",
    requestHeaders: {
      ...version,
      "Upload-Length": required("Of the whole file, in bytes."),
      "Upload-Metadata": required(metadata),
      ...checksum,
    },
    takes: bytesType,
    status: 201,
    responseHeaders: {
      Location: "The URL of the upload. Its last part is the id of the later file.",
      "Upload-Offset": "The number of received bytes, if some were sent.",
      "Upload-Expires": expiry,
      "Content-Location": contentLocation,
    },
    errors: [...always, ...ofBytes, "ContentEncodingUnsupported", "ItemDoesNotExist"],
  },
  {
    method: "HEAD",
    path: uploadPath,
    operation: "findUpload",
    summary: "Read the offset of a resumable upload",
    description: "Tells where to go on after a broken connection.",
    requestHeaders: version,
    status: 200,
    responseHeaders: {
      "Upload-Offset": "The number of received bytes.",
      "Upload-Length": "Of the whole file, in bytes.",
      "Upload-Metadata": "As it was sent; not once the upload is a file.",
      "Upload-Expires": expiry,
      "Content-Location": contentLocation,
    },
    errors: [...always, "ItemDoesNotExist", "FileUploadFailed", "RequestTooLarge"],
  },
  {
    method: "PATCH",
    path: uploadPath,
    operation: "continueUpload",
    summary: "Continue a resumable upload; its last bytes create the file",
    description: "The bytes begin at the offset that the server has.",
    requestHeaders: { ...version, "Upload-Offset": required("The number of bytes received before."), ...checksum },
    takes: bytesType,
    status: 204,
    responseHeaders: {
      "Upload-Offset": "The number of received bytes.",
      "Upload-Expires": expiry,
      "Content-Location": contentLocation,
    },
    errors: [...always, ...ofBytes, "UploadContentTypeWrong", "ContentEncodingUnsupported", "ItemDoesNotExist"],
  },
  {
    method: "DELETE",
    path: uploadPath,
    operation: "endUpload",
    summary: "Cancel an unfinished resumable upload",
    description: "Deletes the bytes that have arrived.",
    requestHeaders: version,
    status: 204,
    responseHeaders: {},
    errors: [...always, "ItemDoesNotExist", "ObjectPermissionDenied"],
  },
];
