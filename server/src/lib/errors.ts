/** How a client reacts to an error: the advice in `docs/build/errors.md`. */
export type Remedy = "fix the request" | "register again" | "log in again" | "ask the operator" | "retry later";

interface ErrorRow {
  /** The name on the wire. Conditions may share a name, as the specification requires. */
  readonly error: string;
  readonly errorNumber: number;
  readonly status: number;
  /** The default message; a row without a message sends none. */
  readonly message?: string;
  /** The Retry-After header and `retryAfterSeconds` in the envelope, for temporary conditions. */
  readonly retryAfterSeconds?: number;
  readonly when: string;
  readonly remedy: Remedy;
}

/**
 * Every error condition, one row each (spec/errors). Code throws a condition by its name; names, numbers and statuses
 * are defined only here.
 */
export const errorCatalogue = {
  AuthFailed: {
    error: "AuthFailed",
    errorNumber: 256,
    status: 401,
    message: "An operator token is required.",
    when: "An operators' operation is called without a valid operator token, or an operator signs in with a wrong name or password.",
    remedy: "ask the operator",
  },
  AuthAppCredentialsInvalid: {
    error: "AuthAppCredentialsInvalid",
    errorNumber: 261,
    status: 401,
    message: "The application id or the application key is wrong. Check the values of appid and appkey.",
    when: "The application id or key is wrong.",
    remedy: "fix the request",
  },
  AuthAccessTokenInvalid: {
    error: "AuthAccessTokenInvalid",
    errorNumber: 261,
    status: 401,
    message: "Incorrect token type.",
    when: "The token is missing, unknown, expired, revoked or of another region, whose address is then in `serviceRoot`; the message says which.",
    remedy: "register again",
  },
  AuthAPICallDisabledByDeveloper: {
    error: "AuthAPICallDisabledByDeveloper",
    errorNumber: 257,
    status: 403,
    message: "This operation is disabled for the application.",
    when: "An operator disabled the operation for the application, or suspended the application.",
    remedy: "ask the operator",
  },
  AuthUserAccountDisabled: {
    error: "AuthUserAccountDisabled",
    errorNumber: 264,
    status: 403,
    message: "The user account is disabled.",
    when: "The operator disabled the user: at login, and on every use of the user's tokens.",
    remedy: "ask the operator",
  },
  AuthSignatureInvalid: {
    error: "AuthSignatureInvalid",
    errorNumber: 258,
    status: 401,
    message: "The signature is wrong or has expired. Read the object again for a new signedUrl.",
    when: "A signedUrl was altered, or has expired; or the application requires signed requests and the signature is missing or wrong.",
    remedy: "fix the request",
  },
  AuthBadUsernameOrPassword: {
    error: "AuthBadUsernameOrPassword",
    errorNumber: 262,
    status: 403,
    when: "The user name is unknown or the password is wrong.",
    remedy: "fix the request",
  },
  AuthUserAccessTokenRequired: {
    error: "AuthUserAccessTokenRequired",
    errorNumber: 263,
    status: 403,
    when: "A user token is required, and a device token was sent.",
    remedy: "log in again",
  },
  AuthPasswordChangeRequired: {
    error: "AuthPasswordChangeRequired",
    errorNumber: 267,
    status: 403,
    message:
      "This password was written to a log. Set another one with PATCH /_/api/operators/me (password, currentPassword), or with `rollcall operators password`.",
    when: "The first password was written to a file or a journal and has not been changed.",
    remedy: "fix the request",
  },
  AuthReauthenticationRequired: {
    error: "AuthReauthenticationRequired",
    errorNumber: 266,
    status: 403,
    message: "Enter your password again: it was given more than ten minutes ago.",
    when: "In a session of the console, the operation requires a password that was entered in the last ten minutes.",
    remedy: "fix the request",
  },
  ParameterMissingRequiredValue: {
    error: "ParameterMissingRequiredValue",
    errorNumber: 513,
    status: 400,
    message: "A required parameter is missing.",
    when: "A required parameter is absent, null or empty.",
    remedy: "fix the request",
  },
  ParameterOutOfRange: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 400,
    message: "A parameter is out of range.",
    when: "A number is outside its range, a string outside its length, or an id of the wrong kind.",
    remedy: "fix the request",
  },
  ApplicationIdMalformed: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 401,
    message: "Incorrect id type, expected App.",
    when: "POST /devices: the application id is malformed or of the wrong kind.",
    remedy: "fix the request",
  },
  RangeOutsideFile: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 416,
    message: "The range is outside the file.",
    when: "No byte of Range is in the file, whose length is in Content-Range.",
    remedy: "fix the request",
  },
  ParameterIncorrectFormat: {
    error: "ParameterIncorrectFormat",
    errorNumber: 515,
    status: 400,
    message: "The request could not be parsed.",
    when: "A parameter, an id or the body cannot be parsed.",
    remedy: "fix the request",
  },
  HttpsRequired: {
    error: "AuthAPICallDisabledByDeveloper",
    errorNumber: 257,
    status: 403,
    message: "Plain HTTP is disabled here. Use HTTPS.",
    when: "The call used plain HTTP although REQUIRE_HTTPS is set. Health checks and calls from the machine itself are exempt.",
    remedy: "fix the request",
  },
  OperationNotFound: {
    error: "OperationNotFound",
    errorNumber: 516,
    status: 404,
    message: "There is no such operation.",
    when: "There is no such path or verb.",
    remedy: "fix the request",
  },
  ItemDoesNotExist: {
    error: "ItemDoesNotExist",
    errorNumber: 769,
    status: 404,
    message: "The item does not exist.",
    when: "The item does not exist, or this caller may not read it; the responses are the same.",
    remedy: "fix the request",
  },
  ItemAlreadyExists: {
    error: "ItemAlreadyExists",
    errorNumber: 770,
    status: 400,
    message: "The value is already in use. Choose a unique one.",
    when: "A value that must be unique is already in use.",
    remedy: "fix the request",
  },
  ObjectPermissionDenied: {
    error: "ObjectPermissionDenied",
    errorNumber: 771,
    status: 403,
    message: "Only the owner may do this.",
    when: "The caller may read the object but not change it.",
    remedy: "fix the request",
  },
  FileUploadFailed: {
    error: "FileUploadFailed",
    errorNumber: 1025,
    status: 400,
    message: "The upload was interrupted.",
    when: "The upload was interrupted, is empty, or does not match its description.",
    remedy: "fix the request",
  },
  RequestTooLarge: {
    error: "RequestTooLarge",
    errorNumber: 1281,
    status: 413,
    message: "The request is too large.",
    when: "The request as a whole exceeds a limit, which the message names.",
    remedy: "fix the request",
  },
  UploadOffsetConflict: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 409,
    message: "Upload-Offset does not match the upload. Read its offset with HEAD.",
    when: "The bytes sent to a resumable upload do not start at its offset.",
    remedy: "fix the request",
  },
  UploadVersionUnsupported: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 412,
    message: "Tus-Resumable must be 1.0.0.",
    when: "A resumable upload: Tus-Resumable is missing, or not 1.0.0.",
    remedy: "fix the request",
  },
  UploadContentTypeWrong: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 415,
    message: "Content-Type must be application/offset+octet-stream.",
    when: "Bytes of a resumable upload have another Content-Type than application/offset+octet-stream.",
    remedy: "fix the request",
  },
  ContentEncodingUnsupported: {
    error: "ParameterOutOfRange",
    errorNumber: 514,
    status: 415,
    message: "The body must not be compressed. Send it without Content-Encoding.",
    when: "The request has a body and a Content-Encoding other than identity.",
    remedy: "fix the request",
  },
  UploadChecksumMismatch: {
    error: "FileUploadFailed",
    errorNumber: 1025,
    status: 460,
    message: "The checksum does not match the received bytes. They were discarded.",
    when: "The bytes of a resumable upload do not match Upload-Checksum.",
    remedy: "retry later",
  },
  RateLimitExceeded: {
    error: "RateLimitExceeded",
    errorNumber: 1282,
    status: 429,
    message: "Too many calls. Try again after the time in Retry-After.",
    retryAfterSeconds: 1,
    when: "The caller, its address or its application exceeds a rate limit, or too many sign-ins failed.",
    remedy: "retry later",
  },
  IdempotencyKeyReused: {
    error: "IdempotencyKeyReused",
    errorNumber: 1283,
    status: 409,
    message: "The idempotency key was used for another request. Use a new one.",
    when: "The caller sent this idempotency key with another path, verb or body within the last day, or its stored response cannot be read since the secret was rotated.",
    remedy: "fix the request",
  },
  ServiceUnavailable: {
    error: "ServiceUnavailable",
    errorNumber: 1284,
    status: 503,
    message: "The service is not available right now. Try again.",
    retryAfterSeconds: 1,
    when: "The database, the file store or a region cannot be reached or is full, a queue is full, the application moves to another region, or the server is shutting down.",
    remedy: "retry later",
  },
  InternalError: {
    error: "InternalError",
    errorNumber: 1285,
    status: 500,
    message: "The server failed to handle the request.",
    when: "A bug in the server; the log line has the request_id.",
    remedy: "retry later",
  },
  BatchItemNotRun: {
    error: "BatchItemNotRun",
    errorNumber: 1286,
    status: 424,
    message: "An earlier item of the batch failed.",
    when: "In a batch: another item failed (sequential, atomic), or a reference does not resolve.",
    remedy: "fix the request",
  },
  ObjectChanged: {
    error: "ObjectChanged",
    errorNumber: 1287,
    status: 412,
    message: "It has changed since it was read.",
    when: "If-Match names another version than the stored one, which is in `current`.",
    remedy: "fix the request",
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCondition = keyof typeof errorCatalogue;

/** Returns the row of a condition, typed with the optional fields. */
export function errorRow(condition: ErrorCondition): ErrorRow {
  return errorCatalogue[condition];
}

/** The problem with a setting. */
export interface Problem {
  /** Absent for a problem with the combination of settings. */
  readonly path: string | undefined;
  readonly message: string;
}

/**
 * An error that is sent to the client unchanged: a condition of the catalogue, with its default or another message.
 */
export class ApiError extends Error {
  readonly condition: ErrorCondition;
  readonly retryAfterSeconds: number | undefined;
  /** The region that the client must call instead, for `WrongRegion`. */
  readonly serviceRoot: string | undefined;
  /** The documented name of the invalid parameter, with a dot before a member inside it. */
  readonly parameter: string | undefined;
  /** The methods by which the caller can authenticate again, for `AuthReauthenticationRequired`. */
  readonly methods: readonly string[] | undefined;
  /** The stored settings as the caller may see them, for `ObjectChanged`. */
  readonly current: object | undefined;
  /** The refused settings, with their paths. */
  readonly problems: readonly Problem[] | undefined;
  /** The subject of a genuine token that was refused, for the log and the statistics; never in the response. */
  readonly refused: TokenHolder | undefined;

  constructor(
    condition: ErrorCondition,
    message?: string,
    options?: {
      readonly cause?: unknown;
      readonly retryAfterSeconds?: number | undefined;
      readonly serviceRoot?: string | undefined;
      readonly parameter?: string | undefined;
      readonly methods?: readonly string[] | undefined;
      readonly current?: object | undefined;
      readonly problems?: readonly Problem[] | undefined;
      readonly refused?: TokenHolder | undefined;
    },
  ) {
    super(message ?? errorRow(condition).message ?? "", options);
    this.name = "ApiError";
    this.condition = condition;
    this.retryAfterSeconds = options?.retryAfterSeconds ?? errorRow(condition).retryAfterSeconds;
    this.serviceRoot = options?.serviceRoot;
    this.parameter = options?.parameter;
    this.methods = options?.methods;
    this.current = options?.current;
    this.problems = options?.problems;
    this.refused = options?.refused;
  }
}

/** The subject that a token was issued for, as far as the token contains it. */
export interface TokenHolder {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly userId?: string | undefined;
  /** Whether the subject is a test user, as in a caller. */
  readonly isTest?: true;
}

/** Aborts a request that will be run again and has no response yet (see `Database.nestTransactions`). */
export class Interrupted extends Error {}
