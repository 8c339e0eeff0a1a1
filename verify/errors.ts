/** One row of the specification's error tables. */
export interface ErrorRow {
  readonly error: string;
  readonly errorNumber: number;
  readonly status: number;
  /** The exact text, a pattern, "none" when there must be no message, or "any". */
  readonly message: string | RegExp;
}

/** spec/errors#specified-errors, row by row. */
export const specified = {
  passwordTooShort: row("ParameterOutOfRange", 514, 400, /password.*\b4\b/i),
  userNameTaken: row("ItemAlreadyExists", 770, 400, /unique/i),
  badUserNameOrPassword: row("AuthBadUsernameOrPassword", 262, 403, "none"),
  appIdMalformed: row("ParameterOutOfRange", 514, 401, "Incorrect id type, expected App."),
  appCredentialsInvalid: row("AuthAppCredentialsInvalid", 261, 401, /check/i),
  tokenInvalid: row("AuthAccessTokenInvalid", 261, 401, /^Incorrect token type\.( |$)/),
  userTokenRequired: row("AuthUserAccessTokenRequired", 263, 403, "none"),
};

/** spec/errors#other-errors. */
export const further = {
  noOperator: row("AuthFailed", 256, 401),
  missing: row("ParameterMissingRequiredValue", 513, 400),
  outOfRange: row("ParameterOutOfRange", 514, 400),
  checkinIdWrongKind: row("ParameterOutOfRange", 514, 400, "Incorrect id type, expected Checkin."),
  userIdWrongKind: row("ParameterOutOfRange", 514, 400, "Incorrect id type, expected User."),
  incorrectFormat: row("ParameterIncorrectFormat", 515, 400),
  operationNotFound: row("OperationNotFound", 516, 404),
  itemDoesNotExist: row("ItemDoesNotExist", 769, 404),
  itemAlreadyExists: row("ItemAlreadyExists", 770, 400),
  permissionDenied: row("ObjectPermissionDenied", 771, 403),
  uploadFailed: row("FileUploadFailed", 1025, 400),
  tooLarge: row("RequestTooLarge", 1281, 413),
  signatureInvalid: row("AuthSignatureInvalid", 258, 401),
  disabled: row("AuthAPICallDisabledByDeveloper", 257, 403),
  rateLimitExceeded: row("RateLimitExceeded", 1282, 429),
  keyReused: row("IdempotencyKeyReused", 1283, 409),
};

/** The error row for a missing required parameter. */
export function missing(parameter: string): ErrorRow {
  return { ...further.missing, message: new RegExp(`\\b${parameter}\\b`) };
}

function row(error: string, errorNumber: number, status: number, message: string | RegExp = "any"): ErrorRow {
  return { error, errorNumber, status, message };
}
