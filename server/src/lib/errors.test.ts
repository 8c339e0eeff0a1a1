// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError, type ErrorCondition, errorCatalogue, errorRow } from "./errors.ts";

const conditions = Object.keys(errorCatalogue) as ErrorCondition[]; // Object.keys forgets the key type

/**
 * The rows of spec/errors#specified-errors: our condition, and the name, number, status and message of the
 * specification.
 */
const specified: [condition: ErrorCondition, error: string, errorNumber: number, status: number, message: RegExp][] = [
  ["ParameterOutOfRange", "ParameterOutOfRange", 514, 400, /./],
  ["ItemAlreadyExists", "ItemAlreadyExists", 770, 400, /unique/],
  ["AuthBadUsernameOrPassword", "AuthBadUsernameOrPassword", 262, 403, /^$/],
  ["ApplicationIdMalformed", "ParameterOutOfRange", 514, 401, /^Incorrect id type, expected App\.$/],
  ["AuthAppCredentialsInvalid", "AuthAppCredentialsInvalid", 261, 401, /Check the values/],
  ["AuthAccessTokenInvalid", "AuthAccessTokenInvalid", 261, 401, /^Incorrect token type\.$/],
  ["AuthUserAccessTokenRequired", "AuthUserAccessTokenRequired", 263, 403, /^$/],
];

/** The error names in spec/errors#other-errors. */
const surface: Readonly<Record<string, readonly [errorNumber: number, status: number]>> = {
  AuthFailed: [256, 401],
  AuthAPICallDisabledByDeveloper: [257, 403],
  AuthSignatureInvalid: [258, 401],
  AuthUserAccountDisabled: [264, 403],
  AuthReauthenticationRequired: [266, 403],
  AuthPasswordChangeRequired: [267, 403], // ours, only for operators
  ParameterMissingRequiredValue: [513, 400],
  ParameterOutOfRange: [514, 400],
  ParameterIncorrectFormat: [515, 400],
  OperationNotFound: [516, 404],
  ItemDoesNotExist: [769, 404],
  ItemAlreadyExists: [770, 400],
  ObjectPermissionDenied: [771, 403],
  FileUploadFailed: [1025, 400],
  RequestTooLarge: [1281, 413],
  RateLimitExceeded: [1282, 429],
  IdempotencyKeyReused: [1283, 409],
  ServiceUnavailable: [1284, 503],
  InternalError: [1285, 500],
  BatchItemNotRun: [1286, 424],
  ObjectChanged: [1287, 412],
};

/** Names that a second condition uses with another status. */
const otherStatuses: Readonly<Record<string, readonly number[]>> = {
  ParameterOutOfRange: [401, 416, 409, 412, 415], // the last three come from the tus protocol
  FileUploadFailed: [460],
};

describe("the errors of the specification: spec/errors#specified-errors", () => {
  for (const [condition, error, errorNumber, status, message] of specified) {
    it(`${condition} is ${error} ${errorNumber}, status ${status}`, () => {
      const row = errorRow(condition);
      assert.deepEqual([row.error, row.errorNumber, row.status], [error, errorNumber, status]);
      assert.match(row.message ?? "", message);
    });
  }

  it("share only the numbers 257, 261, 514 and 1025 between conditions", () => {
    const rows = conditions.map(errorRow);
    const shared = rows.filter((row) => rows.some((other) => other !== row && other.errorNumber === row.errorNumber));
    assert.deepEqual(new Set(shared.map(({ errorNumber }) => errorNumber)), new Set([257, 261, 514, 1025]));
  });
});

describe("the errors that Rollcall adds: spec/errors#other-errors", () => {
  for (const condition of conditions) {
    const { error, errorNumber, status } = errorRow(condition);
    if (specified.some(([known]) => known === condition)) continue;
    it(`${condition} is ${error} ${errorNumber}, status ${status}`, () => {
      const [number, usual] = surface[error] ?? [];
      assert.equal(errorNumber, number);
      assert.ok(usual === status || otherStatuses[error]?.includes(status));
    });
  }
});

describe("the catalogue of errors", () => {
  it("has one number per name", () => {
    for (const condition of conditions) {
      for (const other of conditions) {
        if (errorRow(condition).error === errorRow(other).error) {
          assert.equal(errorRow(condition).errorNumber, errorRow(other).errorNumber);
        }
      }
    }
  });

  it("names a condition after its error, unless several conditions share the error", () => {
    const names = conditions.map((condition) => errorRow(condition).error);
    for (const condition of conditions) {
      const { error } = errorRow(condition);
      if (names.filter((name) => name === error).length === 1) assert.equal(condition, error);
      else assert.ok(condition in errorCatalogue && error in errorCatalogue);
    }
  });

  it("describes in complete sentences when each error occurs and how a client reacts", () => {
    for (const condition of conditions) {
      const { when, remedy, message, status } = errorRow(condition);
      assert.match(when, /^[A-Z].*\.$/);
      assert.match(message ?? "A sentence.", /^[A-Z].*\.$/);
      if (status >= 500) assert.equal(remedy, "retry later");
    }
  });

  it("does not reveal the failure behind an InternalError", () => {
    assert.equal(
      new ApiError("InternalError", undefined, { cause: new Error("secret") }).message,
      errorRow("InternalError").message,
    );
  });
});

describe("ApiError", () => {
  it("has the message that is passed to it, or else the message of its row, if any", () => {
    assert.equal(new ApiError("ItemDoesNotExist").message, "The item does not exist.");
    assert.equal(new ApiError("ItemDoesNotExist", "No such thing.").message, "No such thing.");
    assert.equal(new ApiError("AuthBadUsernameOrPassword").message, "");
  });
});
