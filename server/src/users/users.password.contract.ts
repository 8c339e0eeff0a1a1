import { Type } from "../contract/schema.ts";
import { Text } from "../contract/wire.ts";
import { codePlaceholders } from "../mail/mail-texts.ts";
import { NewPassword } from "./users.contract.ts";

/** The placeholder of the code in the text of the mail. */
export const resetCodePlaceholder = codePlaceholders.resetCode;

// Without bounds: a name that is too long is an unknown one.
const userName = Text({ description: "The name of the user, in any case." });

export const RequestPasswordReset = Type.Object({
  userName,
  subject: Text({ maxLength: 256, description: "Subject of the mail." }),
  body: Text({ maxLength: 10_000, description: `Text of the mail, with ${resetCodePlaceholder} where the code goes.` }),
});

export const ResetPassword = Type.Object({
  userName,
  resetCode: Text({ description: "The mailed code, in any case, with or without blanks and dashes." }),
  newPassword: NewPassword,
});
