import { calledBy, refusedWith } from "../audit/audit.events.ts";
import type { UserCaller } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import { Email, Text } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { ApiError } from "../lib/errors.ts";
import { addressKey, trimAddress } from "../lib/mail-addresses.ts";
import { codePlaceholders } from "../mail/mail-texts.ts";
import type { PutMail } from "../mail/outbox.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { deleteUsedCode, type StoredCode } from "./users.codes.store.ts";
import { checkCode, putMailWithCode } from "./users.codes.ts";
import { emailCharactersMax } from "./users.contract.ts";
import { isSameAddress } from "./users.email.ts";
import { requirePlaceholder } from "./users.password.contract.ts";
import { putEmailNotices, storeProfile } from "./users.profile.store.ts";
import { changedEmail, lockUser, type VerifiedPassword, verifyPassword } from "./users.proof.ts";
import { isOfAnother } from "./users.verified-addresses.ts";

const RequestEmailCode = Type.Object({
  email: Type.Optional(
    Email({ maxLength: emailCharactersMax, description: "The address to verify; the present one if it is absent." }),
  ),
  subject: Type.Optional(Text({ maxLength: 256, description: "Subject of the mail." })),
  body: Type.Optional(
    Text({
      maxLength: 10_000,
      description: `Text of the mail, with ${codePlaceholders.verifyCode} in place of the code.`,
    }),
  ),
});

const requestEmailCode = operation({
  method: "POST",
  path: "/users/me/email",
  operation: "requestEmailCode",
  summary: "Mail a code to an address, to verify it or to change to it",
  description: "Mails at most one code a minute to the same address, and five an hour.",
  tag: "Users",
  caller: "user",
  parameters: RequestEmailCode,
  status: 200,
  result: Type.Literal(true),
  errors: ["ParameterMissingRequiredValue"],
  async handle({ caller, parameters, call }, services) {
    const { applicationId, userId } = caller;
    const { email, subject, body } = parameters;
    if (email !== undefined) requireAddress(email);
    if (body !== undefined) requirePlaceholder(body, "verifyCode");
    const isOwnText = subject === undefined && body === undefined;
    const put = await services.database.write(({ queries }) =>
      putMailWithCode(
        {
          ...{ applicationId, userId, kind: "verifyCode" },
          addressOf: (user) => email ?? (user.email === null ? null : requireAddress(trimAddress(user.email))),
          text: isOwnText ? {} : { given: { subject, body } },
          language: call.language,
        },
        services,
        queries,
      ),
    );
    if (put === "noAddress") {
      throw new ApiError("ParameterMissingRequiredValue", "email is required: the user has no address.", {
        parameter: "email",
      });
    }
    if (put !== "recentCode") services.background.run("mailVerifyCode", () => services.mails.settle([put]));
    return true as const;
  },
});

/** @throws ApiError ParameterIncorrectFormat for an address to which no mail can be sent */
function requireAddress(email: string): string {
  if (addressKey(email) !== undefined) return email;
  throw new ApiError("ParameterIncorrectFormat", "email must be a single e-mail address.", { parameter: "email" });
}

const VerifyEmail = Type.Object({
  verifyCode: Text({ description: "The mailed code, in any case, with or without blanks and dashes." }),
  currentPassword: Type.Optional(
    Text({ keepsEmpty: true, description: "Makes another address receive reset codes immediately." }),
  ),
});

const verifyEmail = operation({
  method: "PATCH",
  path: "/users/me/email",
  operation: "verifyEmail",
  summary: "Verify the address that a mailed code went to; it becomes the user's address",
  description: "An address is verified by one user of the application at a time.",
  tag: "Users",
  caller: "user",
  parameters: VerifyEmail,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemAlreadyExists", "AuthBadUsernameOrPassword"],
  async handle({ caller, parameters, call }, services) {
    const { applicationId, userId } = caller;
    const { database, audit, background, mails } = services;
    const event = { ...calledBy(caller, call), action: "verifyEmail", target: userId };
    const code = await checkCode({ kind: "verifyCode", applicationId, userId }, parameters.verifyCode, services);
    if (code === undefined) {
      await audit.note({ ...event, ...refusedWith("ParameterOutOfRange") });
      throw wrongCode();
    }
    const { currentPassword } = parameters;
    const password =
      currentPassword === undefined
        ? undefined
        : await verifyPassword(caller, call, { currentPassword }, event, services);
    const put = await database.write(async (transaction) => {
      const notices = await storeVerified(
        code,
        caller,
        { password, language: call.language },
        services,
        transaction.queries,
      );
      await audit.recordRepeatable(event, transaction);
      return notices;
    });
    if (put.length > 0) background.run("mailNotices", () => mails.settle(put));
    return true as const;
  },
});

function wrongCode(): ApiError {
  return new ApiError("ParameterOutOfRange", "verifyCode is wrong, used or expired.", { parameter: "verifyCode" });
}

/** @returns the notices to settle @throws ApiError ParameterOutOfRange, ItemAlreadyExists */
async function storeVerified(
  code: StoredCode,
  caller: UserCaller,
  { password, language }: { readonly password: VerifiedPassword | undefined; readonly language: string | undefined },
  services: Services,
  queries: Queries,
): Promise<PutMail[]> {
  const { database, clock } = services;
  const before = await lockUser(caller, password, services, queries);
  const address = (await deleteUsedCode(code, queries))?.address;
  const key = address === undefined ? undefined : addressKey(address);
  if (address === undefined || key === undefined) throw wrongCode(); // a concurrent call has used it
  if (await isOfAnother(before, key, { dialect: database.dialect, now: clock.now() }, queries)) {
    throw new ApiError("ItemAlreadyExists", "Another user has verified this address.", { parameter: "email" });
  }
  const isOther = !isSameAddress(before.email, address);
  const changed = {
    ...(isOther && (await changedEmail(caller, before, address, password !== undefined, services, queries))),
    verified_email_key: key,
    modified_at: clock.now(),
  };
  const now = await storeProfile(before, changed, false, services, queries);
  return putEmailNotices(before, now, services, queries, language);
}

/** Verification and change of the address by a mailed code (spec/users#verified-addresses). */
export const userVerificationOperations = [requestEmailCode, verifyEmail];
