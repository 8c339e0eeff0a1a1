import { type AuditEvent, refusedWith } from "../audit/audit.events.ts";
import { userTicket } from "../auth/guard/hash-queue.ts";
import { findSession } from "../auth/user-tokens.ts";
import type { Call } from "../contract/call.ts";
import type { UserCaller } from "../contract/route.ts";
import type { Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { changedEmailColumns, freshSignInMs } from "./users.email.ts";
import { findUser } from "./users.store.ts";

/** The hash that the current password matched, and the hash of the new password, if any. */
export interface VerifiedPassword {
  readonly from: string;
  readonly to: string | undefined;
}

/**
 * Verifies `currentPassword`, and hashes a new password.
 *
 * @throws ApiError AuthBadUsernameOrPassword, and those of `SignInGuard.check`
 */
export async function verifyPassword(
  { applicationId, userId, deviceId }: UserCaller,
  call: Call,
  { password, currentPassword }: { readonly password?: string | undefined; readonly currentPassword: string },
  event: AuditEvent,
  { database, passwords, passwordChanges, signInGuard, audit }: Services,
): Promise<VerifiedPassword> {
  const user = await findUser(applicationId, userId, database.reads);
  const from = user?.password_hash ?? "";
  // Counted with the user's failed logins, because the guesses are for the same password.
  const nameKey = user?.user_name_key ?? "";
  const attempt = { applicationId, nameKey, deviceId, address: call.address, recognizedOrigin: deviceId };
  const ticket = userTicket(applicationId, call, userId);
  const verify = () => passwords.verify(from === "" ? undefined : from, currentPassword, ticket);
  const verified = await database.outsideTransaction(
    `current password ${from} ${currentPassword} ${password}`,
    () =>
      passwordChanges.run(applicationId, userId, async () =>
        (await signInGuard.check(attempt, verify))
          ? { from, to: password === undefined ? undefined : await passwords.hash(password, ticket) }
          : undefined,
      ),
    { hasEffect: true },
  );
  if (verified === undefined) {
    await audit.note({ ...event, ...refusedWith("AuthBadUsernameOrPassword") });
    throw new ApiError("AuthBadUsernameOrPassword");
  }
  return verified;
}

/**
 * @throws ApiError AuthAccessTokenInvalid; AuthBadUsernameOrPassword when the password has changed since its
 * verification
 */
export async function lockUser(
  { applicationId, userId }: UserCaller,
  password: VerifiedPassword | undefined,
  { database }: Services,
  queries: Queries,
): Promise<UserRow> {
  await lockRow(database.dialect, "users", applicationId, userId, queries);
  const user = await findUser(applicationId, userId, queries);
  if (user === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token check
  if (password !== undefined && password.from !== user.password_hash) {
    throw new ApiError("AuthBadUsernameOrPassword"); // changed since it was checked
  }
  return user;
}

/**
 * Returns the columns of a changed address.
 *
 * @throws ApiError ParameterMissingRequiredValue where the application requires the password
 */
export async function changedEmail(
  caller: UserCaller,
  before: UserRow,
  email: string | null,
  hasProved: boolean,
  { clock }: Services,
  queries: Queries,
): Promise<ReturnType<typeof changedEmailColumns>> {
  const settings = await loadApplicationSettings(caller.applicationId, queries);
  if (settings.email?.requirePassword === true && !hasProved) {
    throw new ApiError("ParameterMissingRequiredValue", "currentPassword is required with email.", {
      parameter: "currentPassword",
    });
  }
  const now = clock.now();
  const signedInAt = (await findSession(caller, queries))?.created_at;
  // Clocks of processes differ slightly. A sign-in further in the future was stored under a wrong clock.
  const isFresh = signedInAt !== undefined && Math.abs(now - signedInAt) <= freshSignInMs;
  return changedEmailColumns(before, email, hasProved || isFresh, now);
}
