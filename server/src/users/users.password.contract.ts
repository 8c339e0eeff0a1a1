import { Type } from "../contract/schema.ts";
import { Text } from "../contract/wire.ts";
import { ApiError } from "../lib/errors.ts";
import { codePlaceholders } from "../mail/mail-texts.ts";
import { NewPassword } from "./users.contract.ts";

// No length limit: a name that is too long is an unknown one.
const userName = Text({ description: "The name of the user, in any case." });

const mailSubject = Text({ maxLength: 256, description: "Subject of the mail." });
const mailBody = Text({
  maxLength: 10_000,
  description: `Text of the mail, with ${codePlaceholders.resetCode} in place of the code.`,
});

export const RequestPasswordReset = Type.Object({
  userName,
  subject: mailSubject,
  body: mailBody,
});

/** A mail in the operator's words, instead of the application's. */
export const SendPasswordReset = Type.Object({
  subject: Type.Optional(mailSubject),
  body: Type.Optional(mailBody),
});

/** @throws ApiError ParameterIncorrectFormat for a body without the placeholder for the code */
export function requirePlaceholder(body: string, kind: keyof typeof codePlaceholders = "resetCode"): void {
  if (body.includes(codePlaceholders[kind])) return;
  throw new ApiError("ParameterIncorrectFormat", `body must contain ${codePlaceholders[kind]}.`, { parameter: "body" });
}

export const ResetPassword = Type.Object({
  userName,
  resetCode: Text({ description: "The mailed code, in any case, with or without blanks and dashes." }),
  newPassword: NewPassword,
});
