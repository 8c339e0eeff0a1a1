import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { SignInGuard } from "../auth/sign-in-guard.ts";
import type { Background } from "../background.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Call } from "../http/call.ts";
import { type Route, route, type UserCaller } from "../http/route.ts";
import { type Static, Type } from "../http/schema.ts";
import { resolveUserId } from "../http/wire.ts";
import type { Clock } from "../lib/clock.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import { changedUserColumns } from "./users.changes.ts";
import { ChangeUser, OwnUser, type PictureUrl, presentOwnUser, UserPath } from "./users.contract.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";
import { userNameTaken } from "./users.names.ts";
import { deleteResetCodes } from "./users.password.store.ts";
import { createInSteps } from "./users.steps.ts";
import { findShownUser, findUser, updateUser } from "./users.store.ts";

/** One's own account: changing the profile, the settings and the password, and deleting oneself (surface.md section 5). */
export function usersAccountRoutes(services: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly signInGuard: SignInGuard;
  readonly revocations: Revocations;
  readonly fuzzing: Fuzzing;
  readonly background: Background;
  readonly pictureUrl: PictureUrl;
  readonly audit: Audit;
  readonly clock: Clock;
}): Route[] {
  const { database, passwords, signInGuard, revocations, fuzzing, background, pictureUrl, audit, clock } = services;
  const inSteps = createInSteps(background);

  /** That a path names the caller. @throws ApiError ItemDoesNotExist, ObjectPermissionDenied */
  async function requireOneself({ applicationId, userId }: UserCaller, path: Static<typeof UserPath>): Promise<void> {
    const id = resolveUserId(path.userId, userId);
    if (id === userId) return;
    const other = await findShownUser(applicationId, userId, id, database.reads);
    throw new ApiError(other === undefined ? "ItemDoesNotExist" : "ObjectPermissionDenied");
  }

  /** The hash of a new password, and the one that it takes the place of. */
  async function changePassword(
    { applicationId, userId, deviceId }: UserCaller,
    { address }: Call,
    { password, currentPassword }: Static<typeof ChangeUser>,
    event: AuditEvent,
  ): Promise<{ from: string; to: string } | undefined> {
    if (password === undefined) return undefined;
    if (currentPassword === undefined) {
      throw new ApiError("ParameterMissingRequiredValue", "currentPassword is required with password.");
    }
    const user = await findUser(applicationId, userId, database.reads);
    const from = user?.password_hash ?? "";
    // With the failed logins of this user: it is the same password that is guessed.
    const attempt = { applicationId, nameKey: user?.user_name_key ?? "", deviceId, address };
    const isRight = await database.apart(
      `current password ${from} ${currentPassword}`,
      () => signInGuard.check(attempt, () => passwords.verify(from === "" ? undefined : from, currentPassword)),
      { hasEffect: true },
    );
    if (!isRight) {
      await audit.note({ ...event, ...refusedWith("AuthBadUsernameOrPassword") });
      throw new ApiError("AuthBadUsernameOrPassword");
    }
    return { from, to: await passwords.hash(password) };
  }

  /** Writes what has changed. @returns the user as it is now, and as it was */
  async function writeChanges(
    { applicationId, userId, tokenId }: UserCaller,
    given: Static<typeof ChangeUser>,
    password: { from: string; to: string } | undefined,
    transaction: Transaction,
  ): Promise<{ now: UserRow; before: UserRow }> {
    const { queries } = transaction;
    await lockRow(database.dialect, "users", applicationId, userId, queries);
    const before = await findUser(applicationId, userId, queries);
    if (before === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted since the token was checked
    if (password !== undefined && password.from !== before.password_hash) {
      throw new ApiError("AuthBadUsernameOrPassword"); // changed since it was checked
    }
    const changed = {
      ...(await changedUserColumns(before, given, fuzzing, queries)),
      ...(password !== undefined && { password_hash: password.to }),
      modified_at: clock.now(),
    };
    await updateUser(applicationId, userId, changed, queries).catch((error) => {
      throw isUniqueViolation(error) ? userNameTaken() : error;
    });
    if (password !== undefined || changed.email !== before.email) {
      await deleteResetCodes(applicationId, userId, queries);
    }
    if (password !== undefined) await revocations.endOtherUserTokens(applicationId, userId, tokenId, transaction);
    return { now: { ...before, ...changed }, before };
  }

  const changeUser = route({
    method: "PATCH",
    path: "/users/{userId}",
    operation: "changeUser",
    summary: "Change one's own profile, settings or password",
    tag: "Users",
    caller: "user",
    pathParameters: UserPath,
    parameters: ChangeUser,
    status: 200,
    result: OwnUser,
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied", "ItemAlreadyExists", "AuthBadUsernameOrPassword"],
    async handle({ caller, path, parameters, call }) {
      await requireOneself(caller, path);
      const { applicationId, userId } = caller;
      const event = { ...calledBy(caller, call), action: "changeUser", target: userId, details: { password: "given" } };
      const password = await changePassword(caller, call, parameters, event);
      const { now, before } = await database.write(async (transaction) => {
        const written = await writeChanges(caller, parameters, password, transaction);
        if (password !== undefined) await audit.record(event, transaction.queries);
        return written;
      });
      if (now.location_fuzzing !== before.location_fuzzing) {
        await inSteps("reshiftUser", (limits) => reshiftUser(applicationId, userId, { database, fuzzing }, limits));
      }
      return presentOwnUser(now, pictureUrl);
    },
  });

  const deleteUser = route({
    method: "DELETE",
    path: "/users/{userId}",
    operation: "deleteUser",
    summary: "Delete oneself, and all that one owns",
    tag: "Users",
    caller: "user",
    pathParameters: UserPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller, path }) {
      await requireOneself(caller, path);
      const { applicationId, userId } = caller;
      await database.write((transaction) =>
        updateUserDeleted(applicationId, userId, clock.now(), revocations, transaction),
      );
      await inSteps("eraseUser", (limits) => eraseUser(applicationId, userId, database, limits));
      return true as const;
    },
  });

  return [changeUser, deleteUser];
}
