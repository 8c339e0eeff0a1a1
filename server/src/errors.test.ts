import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError, type ErrorCondition, errorCatalogue, errorRow } from "./errors.ts";

const conditions = Object.keys(errorCatalogue) as ErrorCondition[]; // Object.keys forgets the key type

/** service.md "Errors", row by row: the condition here, and what the specification says of it. */
const specified: [condition: ErrorCondition, error: string, errorNumber: number, status: number, message: RegExp][] = [
  ["ParameterOutOfRange", "ParameterOutOfRange", 514, 400, /./],
  ["ItemAlreadyExists", "ItemAlreadyExists", 770, 400, /unique/],
  ["AuthBadUsernameOrPassword", "AuthBadUsernameOrPassword", 262, 403, /^$/],
  ["ApplicationIdMalformed", "ParameterOutOfRange", 514, 401, /^Incorrect id type, expected App\.$/],
  ["AuthAppCredentialsInvalid", "AuthAppCredentialsInvalid", 261, 401, /Check the values/],
  ["AuthAccessTokenInvalid", "AuthAccessTokenInvalid", 261, 401, /^Incorrect token type\.$/],
  ["AuthUserAccessTokenRequired", "AuthUserAccessTokenRequired", 263, 403, /^$/],
];

/** surface.md section 2: every name that may occur, whether it does so far or not. */
const surface: Readonly<Record<string, readonly [errorNumber: number, status: number]>> = {
  AuthFailed: [256, 401],
  AuthAPICallDisabledByDeveloper: [257, 403],
  AuthSignatureInvalid: [258, 401],
  AuthUserAccountDisabled: [264, 403],
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
};

/** Names that have a second condition with another status: service.md has the one, surface.md the other. */
const otherStatuses: Readonly<Record<string, readonly number[]>> = {
  ParameterOutOfRange: [401, 416, 409, 412, 415], // the last three are those of tus
  FileUploadFailed: [460],
};

describe('service.md "Errors"', () => {
  for (const [condition, error, errorNumber, status, message] of specified) {
    it(`${condition} is ${error} ${errorNumber}, status ${status}`, () => {
      const row = errorRow(condition);
      assert.deepEqual([row.error, row.errorNumber, row.status], [error, errorNumber, status]);
      assert.match(row.message ?? "", message);
    });
  }

  it("257, 261, 514 and 1025 are the only numbers that two conditions share", () => {
    const rows = conditions.map(errorRow);
    const shared = rows.filter((row) => rows.some((other) => other !== row && other.errorNumber === row.errorNumber));
    assert.deepEqual(new Set(shared.map(({ errorNumber }) => errorNumber)), new Set([257, 261, 514, 1025]));
  });
});

describe("surface.md section 2", () => {
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

describe("the catalogue", () => {
  it("has one number for each name", () => {
    for (const condition of conditions) {
      for (const other of conditions) {
        if (errorRow(condition).error === errorRow(other).error) {
          assert.equal(errorRow(condition).errorNumber, errorRow(other).errorNumber);
        }
      }
    }
  });

  it("names a condition as the error is named, where no other condition shares the name", () => {
    const names = conditions.map((condition) => errorRow(condition).error);
    for (const condition of conditions) {
      const { error } = errorRow(condition);
      if (names.filter((name) => name === error).length === 1) assert.equal(condition, error);
      else assert.ok(condition in errorCatalogue && error in errorCatalogue);
    }
  });

  it("says of each row when it occurs and what a client does about it, in sentences", () => {
    for (const condition of conditions) {
      const { when, remedy, message, status } = errorRow(condition);
      assert.match(when, /^[A-Z].*\.$/);
      assert.match(message ?? "A sentence.", /^[A-Z].*\.$/);
      if (status >= 500) assert.equal(remedy, "retry later");
    }
  });

  it("InternalError tells nothing of what went wrong", () => {
    assert.equal(
      new ApiError("InternalError", undefined, { cause: new Error("secret") }).message,
      errorRow("InternalError").message,
    );
  });
});

describe("ApiError", () => {
  it("has the message of its row unless it brings one, and none where the row has none", () => {
    assert.equal(new ApiError("ItemDoesNotExist").message, "The item does not exist.");
    assert.equal(new ApiError("ItemDoesNotExist", "No such thing.").message, "No such thing.");
    assert.equal(new ApiError("AuthBadUsernameOrPassword").message, "");
  });
});
