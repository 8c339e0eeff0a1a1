import { noteChanges } from "../audit/audit.changes.ts";
import { operatorTicket } from "../auth/guard/hash-queue.ts";
import { requireApplication } from "../auth/operated-application.ts";
import { type Static, Type } from "../contract/schema.ts";
import { changedText } from "../contract/wire.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { languageTag } from "../lib/languages.ts";
import { maskEmail } from "../lib/mail-addresses.ts";
import type { MailRefusal } from "../mail/admission.ts";
import type { PutMail } from "../mail/outbox.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import { changedUserColumns } from "./users.changes.ts";
import { putMailWithCode } from "./users.codes.ts";
import { genders } from "./users.contract.ts";
import { addressForCodes, changedEmailColumns, isSameAddress } from "./users.email.ts";
import { accountEvent } from "./users.events.ts";
import { requireUserNameKey, userNameTaken } from "./users.names.ts";
import {
  ChangeOperatedUser,
  CreateOperatedUser,
  OperatedUserPath,
  OperatedUsersPath,
  OperatedUserWithCounts,
} from "./users.operator.contract.ts";
import { presentWithCounts, requireOperatedUser } from "./users.operator.reading.ts";
import { requirePlaceholder, SendPasswordReset } from "./users.password.contract.ts";
import { putEmailNotices, storeProfile } from "./users.profile.store.ts";
import { runInSteps, type StepLimits } from "./users.steps.ts";
import { findUserByName, insertUser, newUserRow } from "./users.store.ts";

const createOperatedUser = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/users",
  operation: "createOperatedUser",
  summary: "Create a user, as a sign-up does, without a token",
  description: "The user logs in with this password.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUsersPath,
  parameters: CreateOperatedUser,
  status: 201,
  result: OperatedUserWithCounts,
  errors: ["ItemDoesNotExist", "ItemAlreadyExists"],
  async handle({ caller, path: { appid }, parameters, call }, services) {
    const { database, passwords, newPasswords, policies, clock, ids, statistics, events } = services;
    const { username, password, email, firstName, lastName, gender, dateOfBirth, tag, language } = parameters;
    await requireApplication(appid, database.reads);
    const policy = await policies.load(appid);
    if (policy !== undefined) await newPasswords.require(password, "password", policy.passwords);
    const user_name_key = requireUserNameKey(username);
    // Avoids hashing a password in vain.
    if ((await findUserByName(appid, username, database.reads)) !== undefined) throw userNameTaken();
    const ticket = operatorTicket(call, caller.operatorId);
    const password_hash = await database.outsideTransaction(`password ${password}`, () =>
      passwords.hash(password, ticket),
    );
    const user = newUserRow({
      application_id: appid,
      id: ids.newId("User"),
      user_name: username,
      user_name_key,
      password_hash,
      email: email || null, // a blank address means no address
      first_name: firstName ?? null,
      last_name: lastName ?? null,
      gender: gender === undefined ? null : genders.indexOf(gender),
      date_of_birth: dateOfBirth ?? null,
      tag: tag ?? null,
      language: languageTag(language ?? "") ?? null,
      created_at: clock.now(),
    });
    await database.write(async ({ queries, afterCommit }) => {
      if (!(await insertUser(user, queries))) throw userNameTaken();
      afterCommit(() => statistics.countNew(appid, "newUsers"));
      await events.record(appid, accountEvent("created", user.id), queries);
    });
    return presentWithCounts(user, services);
  },
});

const changeOperatedUser = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}/users/{userId}",
  operation: "changeOperatedUser",
  summary: "Change names, address or privacy of a user",
  description: "Changes the fields that are sent; an empty text clears a field. Former addresses get a notice.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: ChangeOperatedUser,
  status: 200,
  result: OperatedUserWithCounts,
  errors: ["ItemDoesNotExist", "ItemAlreadyExists"],
  async handle({ path, parameters, call }, services) {
    const { appid, userId } = path;
    const { database, fuzzing, background, mails } = services;
    const { before, now, put } = await changeProfile(path, parameters, services);
    noteChanges(call, auditedColumns(before), auditedColumns(now), { email: maskEmail });
    if (put.length > 0) background.run("mailNotices", () => mails.settle(put));
    if (now.location_fuzzing !== before.location_fuzzing) {
      const reshift = (limits: StepLimits) => reshiftUser(appid, userId, { database, fuzzing }, limits);
      await runInSteps("reshiftUser", reshift, services);
    }
    return presentWithCounts(now, services);
  },
});

/** The changes that the audit log stores. Names are omitted, because they are personal data. */
function auditedColumns({ email, celeb_mode, location_fuzzing }: UserRow) {
  return { email, celebMode: celeb_mode === 1, locationFuzzing: location_fuzzing === 1 };
}

function changeProfile(
  { appid, userId }: Static<typeof OperatedUserPath>,
  given: Static<typeof ChangeOperatedUser>,
  services: Services,
) {
  const { database, fuzzing, clock } = services;
  return database.write(async ({ queries }) => {
    await lockRow(database.dialect, "users", appid, userId, queries);
    const before = await requireOperatedUser(appid, userId, queries);
    const modified_at = clock.now();
    const email = changedText(before.email, given.email);
    const changed = {
      ...(await changedUserColumns(before, given, fuzzing, queries)),
      // An operator vouches for the address, so codes go there immediately.
      ...(!isSameAddress(before.email, email) && changedEmailColumns(before, email, true, modified_at)),
      modified_at,
    };
    const now = await storeProfile(before, changed, false, services, queries);
    return { before, now, put: await putEmailNotices(before, now, services, queries) };
  });
}

const sendPasswordReset = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/users/{userId}/password-reset",
  operation: "sendPasswordReset",
  summary: "Mail a password reset code to a user",
  description: "Without subject and body in the application's own text.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: SendPasswordReset,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId }, parameters: own }, services) {
    if (own.body !== undefined) requirePlaceholder(own.body);
    const { database, background, mails } = services;
    await requireOperatedUser(appid, userId, database.reads);
    const put = await database.write(({ queries }) =>
      putMailWithCode(
        { applicationId: appid, userId, kind: "resetCode", addressOf: addressForCodes, text: { own } },
        services,
        queries,
      ),
    );
    const mail = requireMail(put);
    background.run("mailResetCode", () => mails.settle([mail]));
    return true as const;
  },
});

/** Returns the mail, or reports why it was not written. @throws ApiError */
function requireMail(put: PutMail | "noAddress" | "recentCode"): PutMail {
  if (put === "noAddress") throw new ApiError("ParameterOutOfRange", "The user has no e-mail address.");
  if (put === "recentCode") throw tooMany("A code was mailed to the user less than a minute ago.", 60);
  if (put.refusedFor !== undefined) throw refusals[put.refusedFor]();
  return put;
}

function tooMany(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError("RateLimitExceeded", message, { retryAfterSeconds });
}

const tooManyCodes = () => tooMany("The user or the address has been mailed too many codes within an hour.", 3_600);

const refusals: Readonly<Record<MailRefusal, () => ApiError>> = {
  user: tooManyCodes,
  address: tooManyCodes,
  notices: tooManyCodes,
  outbox: () => new ApiError("ServiceUnavailable", "Too many mails of the application wait for delivery."),
  form: () => new ApiError("ParameterOutOfRange", "The user's email is not a single plain address."),
};

/** Operators create users, change their profiles and mail codes for new passwords (spec/operators#edit-users). */
export const userEditingOperatorOperations = [createOperatedUser, changeOperatedUser, sendPasswordReset];
