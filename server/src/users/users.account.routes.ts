import { type AuditEvent, calledBy } from "../audit/audit.events.ts";
import type { Call } from "../contract/call.ts";
import type { UserCaller } from "../contract/route.ts";
import { type Static, Type } from "../contract/schema.ts";
import { changedText, resolveUserId } from "../contract/wire.ts";
import type { Transaction } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { PutMail } from "../mail/outbox.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import { changedUserColumns } from "./users.changes.ts";
import { ChangeUser, OwnUser, presentOwnUser, UserPath } from "./users.contract.ts";
import { isSameAddress } from "./users.email.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";
import { putEmailNotices, storeProfile } from "./users.profile.store.ts";
import { changedEmail, lockUser, type VerifiedPassword, verifyPassword } from "./users.proof.ts";
import { runInSteps, type StepLimits } from "./users.steps.ts";
import { findShownUser, findUser } from "./users.store.ts";

const changeUser = operation({
  method: "PATCH",
  path: "/users/{userId}",
  operation: "changeUser",
  summary: "Change one's own profile, settings or password",
  description:
    "Changes the fields that are sent; an empty text clears a field. A new password needs currentPassword and ends the user's other tokens.",
  tag: "Users",
  caller: "user",
  pathParameters: UserPath,
  parameters: ChangeUser,
  status: 200,
  result: OwnUser,
  errors: [
    "OperationNotFound",
    "ItemDoesNotExist",
    "ObjectPermissionDenied",
    "ItemAlreadyExists",
    "AuthBadUsernameOrPassword",
  ],
  async handle({ caller, path, parameters, call }, services) {
    const { database, fuzzing, background, pictureUrl, audit, mails } = services;
    await requireSelf(caller, path, services);
    const { applicationId, userId } = caller;
    const event = { ...calledBy(caller, call), action: "changeUser", target: userId, details: { password: "given" } };
    const { email: _, ...withoutEmail } = parameters;
    const given = caller.policy.email.changeByCode === true ? withoutEmail : parameters;
    const password = await proveChange(caller, call, given, event, services);
    const { now, before, put } = await database.write(async (transaction) => {
      const written = await writeChanges(given, { password, language: call.language }, caller, services, transaction);
      if (password?.to !== undefined) await audit.recordRepeatable(event, transaction);
      return written;
    });
    if (put.length > 0) background.run("mailNotices", () => mails.settle(put));
    if (now.location_fuzzing !== before.location_fuzzing) {
      const reshift = (limits: StepLimits) => reshiftUser(applicationId, userId, { database, fuzzing }, limits);
      await runInSteps("reshiftUser", reshift, services);
    }
    return presentOwnUser(now, pictureUrl);
  },
});

const deleteUser = operation({
  method: "DELETE",
  path: "/users/{userId}",
  operation: "deleteUser",
  summary: "Delete the current user with all data",
  description:
    "Ends every token of the user at once. The data is invisible from then on, and erased in the background.",
  tag: "Users",
  caller: "user",
  pathParameters: UserPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["OperationNotFound", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path }, services) {
    await requireSelf(caller, path, services);
    const { database, clock } = services;
    const { applicationId, userId } = caller;
    await database.write((transaction) => updateUserDeleted(applicationId, userId, clock.now(), services, transaction));
    await runInSteps("eraseUser", (limits) => eraseUser(applicationId, userId, database, limits), services);
    return true as const;
  },
});

/** Requires that the path names the caller. @throws ApiError ItemDoesNotExist, ObjectPermissionDenied */
async function requireSelf(
  { applicationId, userId }: UserCaller,
  path: Static<typeof UserPath>,
  { database }: Services,
): Promise<void> {
  const id = resolveUserId(path.userId, userId);
  if (id === userId) return;
  const other = await findShownUser(applicationId, userId, id, database.reads);
  throw new ApiError(other === undefined ? "ItemDoesNotExist" : "ObjectPermissionDenied");
}

/**
 * Verifies `currentPassword` before a change of password or address.
 *
 * @returns undefined when the request needs no verification
 */
async function proveChange(
  caller: UserCaller,
  call: Call,
  { password, currentPassword, email }: Static<typeof ChangeUser>,
  event: AuditEvent,
  services: Services,
): Promise<VerifiedPassword | undefined> {
  if (password !== undefined && currentPassword === undefined) {
    throw new ApiError("ParameterMissingRequiredValue", "currentPassword is required with password.", {
      parameter: "currentPassword",
    });
  }
  if (currentPassword === undefined) return undefined;
  if (password !== undefined) {
    await services.newPasswords.require(password, "password", caller.policy.passwords);
  } else {
    const user = await findUser(caller.applicationId, caller.userId, services.database.reads);
    if (user === undefined || isSameAddress(user.email, changedText(user.email, email))) return undefined;
  }
  return verifyPassword(caller, call, { password, currentPassword }, event, services);
}

/** Writes the changes. @returns the user before and after, and the mails to send */
async function writeChanges(
  given: Static<typeof ChangeUser>,
  { password, language }: { readonly password: VerifiedPassword | undefined; readonly language: string | undefined },
  caller: UserCaller,
  services: Services,
  transaction: Transaction,
): Promise<{ now: UserRow; before: UserRow; put: PutMail[] }> {
  const { fuzzing, revocations, clock } = services;
  const { applicationId, userId, tokenId } = caller;
  const { queries } = transaction;
  const before = await lockUser(caller, password, services, queries);
  const email = changedText(before.email, given.email);
  const isOtherEmail = !isSameAddress(before.email, email);
  const changed = {
    ...(await changedUserColumns(before, given, fuzzing, queries)),
    ...(isOtherEmail && (await changedEmail(caller, before, email, password !== undefined, services, queries))),
    ...(password?.to !== undefined && { password_hash: password.to }),
    modified_at: clock.now(),
  };
  const now = await storeProfile(before, changed, password?.to !== undefined, services, queries);
  if (password?.to !== undefined) await revocations.endOtherUserTokens(applicationId, userId, tokenId, transaction);
  const put = await putEmailNotices(before, now, services, queries, language);
  return { now, before, put };
}

/**
 * A user's own account: changing the profile, the settings and the password, and deleting the account
 * (spec/users#change-a-profile).
 */
export const userAccountOperations = [changeUser, deleteUser];
