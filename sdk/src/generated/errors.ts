// Written by "npm run docs" from docs/openapi.json.
import { type NamedServiceError, nameClass, type ServiceErrorClass } from "../wire/error-classes.ts";

/** The names of the errors of the service. */
export type ServiceErrorName =
  | "AuthAPICallDisabledByDeveloper"
  | "AuthAccessTokenInvalid"
  | "AuthAppCredentialsInvalid"
  | "AuthBadUsernameOrPassword"
  | "AuthFailed"
  | "AuthPasswordChangeRequired"
  | "AuthReauthenticationRequired"
  | "AuthSignatureInvalid"
  | "AuthUserAccessTokenRequired"
  | "AuthUserAccountDisabled"
  | "BatchItemNotRun"
  | "FileUploadFailed"
  | "IdempotencyKeyReused"
  | "InternalError"
  | "ItemAlreadyExists"
  | "ItemDoesNotExist"
  | "ObjectChanged"
  | "ObjectPermissionDenied"
  | "OperationNotFound"
  | "ParameterIncorrectFormat"
  | "ParameterMissingRequiredValue"
  | "ParameterOutOfRange"
  | "RateLimitExceeded"
  | "RequestTooLarge"
  | "ServiceUnavailable";

/**
 * 403: An operator disabled the operation for the application, or suspended the application. What to do: ask the operator.
 * 403: The call used plain HTTP although REQUIRE_HTTPS is set. Health checks and calls from the machine itself are exempt. What to do: fix the request.
 */
export const AuthAPICallDisabledByDeveloper: ServiceErrorClass<"AuthAPICallDisabledByDeveloper"> = /* @__PURE__ */ nameClass("AuthAPICallDisabledByDeveloper");
export type AuthAPICallDisabledByDeveloper = NamedServiceError<"AuthAPICallDisabledByDeveloper">;

/** 401: The token is missing, unknown, expired, revoked or of another region, whose address is then in `serviceRoot`; the message says which. What to do: register again. */
export const AuthAccessTokenInvalid: ServiceErrorClass<"AuthAccessTokenInvalid"> = /* @__PURE__ */ nameClass("AuthAccessTokenInvalid");
export type AuthAccessTokenInvalid = NamedServiceError<"AuthAccessTokenInvalid">;

/** 401: The application id or key is wrong. What to do: fix the request. */
export const AuthAppCredentialsInvalid: ServiceErrorClass<"AuthAppCredentialsInvalid"> = /* @__PURE__ */ nameClass("AuthAppCredentialsInvalid");
export type AuthAppCredentialsInvalid = NamedServiceError<"AuthAppCredentialsInvalid">;

/** 403: The user name is unknown or the password is wrong. What to do: fix the request. */
export const AuthBadUsernameOrPassword: ServiceErrorClass<"AuthBadUsernameOrPassword"> = /* @__PURE__ */ nameClass("AuthBadUsernameOrPassword");
export type AuthBadUsernameOrPassword = NamedServiceError<"AuthBadUsernameOrPassword">;

/** 401: An operators' operation is called without a valid operator token, or an operator signs in with a wrong name or password. What to do: ask the operator. */
export const AuthFailed: ServiceErrorClass<"AuthFailed"> = /* @__PURE__ */ nameClass("AuthFailed");
export type AuthFailed = NamedServiceError<"AuthFailed">;

/** 403: The first password was written to a file or a journal and has not been changed. What to do: fix the request. */
export const AuthPasswordChangeRequired: ServiceErrorClass<"AuthPasswordChangeRequired"> = /* @__PURE__ */ nameClass("AuthPasswordChangeRequired");
export type AuthPasswordChangeRequired = NamedServiceError<"AuthPasswordChangeRequired">;

/** 403: In a session of the console, the operation requires a password that was entered in the last ten minutes. What to do: fix the request. */
export const AuthReauthenticationRequired: ServiceErrorClass<"AuthReauthenticationRequired"> = /* @__PURE__ */ nameClass("AuthReauthenticationRequired");
export type AuthReauthenticationRequired = NamedServiceError<"AuthReauthenticationRequired">;

/** 401: A signedUrl was altered, or has expired; or the application requires signed requests and the signature is missing or wrong. What to do: fix the request. */
export const AuthSignatureInvalid: ServiceErrorClass<"AuthSignatureInvalid"> = /* @__PURE__ */ nameClass("AuthSignatureInvalid");
export type AuthSignatureInvalid = NamedServiceError<"AuthSignatureInvalid">;

/** 403: A user token is required, and a device token was sent. What to do: log in again. */
export const AuthUserAccessTokenRequired: ServiceErrorClass<"AuthUserAccessTokenRequired"> = /* @__PURE__ */ nameClass("AuthUserAccessTokenRequired");
export type AuthUserAccessTokenRequired = NamedServiceError<"AuthUserAccessTokenRequired">;

/** 403: The operator disabled the user: at login, and on every use of the user's tokens. What to do: ask the operator. */
export const AuthUserAccountDisabled: ServiceErrorClass<"AuthUserAccountDisabled"> = /* @__PURE__ */ nameClass("AuthUserAccountDisabled");
export type AuthUserAccountDisabled = NamedServiceError<"AuthUserAccountDisabled">;

/** 424: In a batch: another item failed (sequential, atomic), or a reference does not resolve. What to do: fix the request. */
export const BatchItemNotRun: ServiceErrorClass<"BatchItemNotRun"> = /* @__PURE__ */ nameClass("BatchItemNotRun");
export type BatchItemNotRun = NamedServiceError<"BatchItemNotRun">;

/**
 * 400: The upload was interrupted, is empty, or does not match its description. What to do: fix the request.
 * 460: The bytes of a resumable upload do not match Upload-Checksum. What to do: retry later.
 */
export const FileUploadFailed: ServiceErrorClass<"FileUploadFailed"> = /* @__PURE__ */ nameClass("FileUploadFailed");
export type FileUploadFailed = NamedServiceError<"FileUploadFailed">;

/** 409: The caller sent this idempotency key with another path, verb or body within the last day, or its stored response cannot be read since the secret was rotated. What to do: fix the request. */
export const IdempotencyKeyReused: ServiceErrorClass<"IdempotencyKeyReused"> = /* @__PURE__ */ nameClass("IdempotencyKeyReused");
export type IdempotencyKeyReused = NamedServiceError<"IdempotencyKeyReused">;

/** 500: A bug in the server; the log line has the request_id. What to do: retry later. */
export const InternalError: ServiceErrorClass<"InternalError"> = /* @__PURE__ */ nameClass("InternalError");
export type InternalError = NamedServiceError<"InternalError">;

/** 400: A value that must be unique is already in use. What to do: fix the request. */
export const ItemAlreadyExists: ServiceErrorClass<"ItemAlreadyExists"> = /* @__PURE__ */ nameClass("ItemAlreadyExists");
export type ItemAlreadyExists = NamedServiceError<"ItemAlreadyExists">;

/** 404: The item does not exist, or this caller may not read it; the responses are the same. What to do: fix the request. */
export const ItemDoesNotExist: ServiceErrorClass<"ItemDoesNotExist"> = /* @__PURE__ */ nameClass("ItemDoesNotExist");
export type ItemDoesNotExist = NamedServiceError<"ItemDoesNotExist">;

/** 412: If-Match names another version than the stored one, which is in `current`. What to do: fix the request. */
export const ObjectChanged: ServiceErrorClass<"ObjectChanged"> = /* @__PURE__ */ nameClass("ObjectChanged");
export type ObjectChanged = NamedServiceError<"ObjectChanged">;

/** 403: The caller may read the object but not change it. What to do: fix the request. */
export const ObjectPermissionDenied: ServiceErrorClass<"ObjectPermissionDenied"> = /* @__PURE__ */ nameClass("ObjectPermissionDenied");
export type ObjectPermissionDenied = NamedServiceError<"ObjectPermissionDenied">;

/** 404: There is no such path or verb. What to do: fix the request. */
export const OperationNotFound: ServiceErrorClass<"OperationNotFound"> = /* @__PURE__ */ nameClass("OperationNotFound");
export type OperationNotFound = NamedServiceError<"OperationNotFound">;

/** 400: A parameter, an id or the body cannot be parsed. What to do: fix the request. */
export const ParameterIncorrectFormat: ServiceErrorClass<"ParameterIncorrectFormat"> = /* @__PURE__ */ nameClass("ParameterIncorrectFormat");
export type ParameterIncorrectFormat = NamedServiceError<"ParameterIncorrectFormat">;

/** 400: A required parameter is absent, null or empty. What to do: fix the request. */
export const ParameterMissingRequiredValue: ServiceErrorClass<"ParameterMissingRequiredValue"> = /* @__PURE__ */ nameClass("ParameterMissingRequiredValue");
export type ParameterMissingRequiredValue = NamedServiceError<"ParameterMissingRequiredValue">;

/**
 * 400: A number is outside its range, a string outside its length, or an id of the wrong kind. What to do: fix the request.
 * 401: POST /devices: the application id is malformed or of the wrong kind. What to do: fix the request.
 * 416: No byte of Range is in the file, whose length is in Content-Range. What to do: fix the request.
 * 409: The bytes sent to a resumable upload do not start at its offset. What to do: fix the request.
 * 412: A resumable upload: Tus-Resumable is missing, or not 1.0.0. What to do: fix the request.
 * 415: Bytes of a resumable upload have another Content-Type than application/offset+octet-stream. What to do: fix the request.
 * 415: The request has a body and a Content-Encoding other than identity. What to do: fix the request.
 */
export const ParameterOutOfRange: ServiceErrorClass<"ParameterOutOfRange"> = /* @__PURE__ */ nameClass("ParameterOutOfRange");
export type ParameterOutOfRange = NamedServiceError<"ParameterOutOfRange">;

/** 429: The caller, its address or its application exceeds a rate limit, or too many sign-ins failed. What to do: retry later. */
export const RateLimitExceeded: ServiceErrorClass<"RateLimitExceeded"> = /* @__PURE__ */ nameClass("RateLimitExceeded");
export type RateLimitExceeded = NamedServiceError<"RateLimitExceeded">;

/** 413: The request as a whole exceeds a limit, which the message names. What to do: fix the request. */
export const RequestTooLarge: ServiceErrorClass<"RequestTooLarge"> = /* @__PURE__ */ nameClass("RequestTooLarge");
export type RequestTooLarge = NamedServiceError<"RequestTooLarge">;

/** 503: The database, the file store or a region cannot be reached or is full, a queue is full, the application moves to another region, or the server is shutting down. What to do: retry later. */
export const ServiceUnavailable: ServiceErrorClass<"ServiceUnavailable"> = /* @__PURE__ */ nameClass("ServiceUnavailable");
export type ServiceUnavailable = NamedServiceError<"ServiceUnavailable">;
