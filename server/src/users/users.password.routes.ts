import { setTimeout } from "node:timers/promises";
import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import { type HashTicket, userTicket } from "../auth/guard/hash-queue.ts";
import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import { type Static, Type } from "../contract/schema.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { PutMail } from "../mail/outbox.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { deleteUsedCode, type StoredCode } from "./users.codes.store.ts";
import { checkCode, putMailWithCode } from "./users.codes.ts";
import { addressForCodes, settledEmailColumns } from "./users.email.ts";
import { userChangedEvent } from "./users.events.ts";
import { RequestPasswordReset, ResetPassword, requirePlaceholder } from "./users.password.contract.ts";
import { answerAfterMs } from "./users.password.delays.ts";
import { dropCodes } from "./users.profile.store.ts";
import { findUser, updateUser } from "./users.store.ts";
import { findMeant, verifiedColumns } from "./users.verified-addresses.ts";

const requestPasswordReset = operation({
  method: "POST",
  path: "/users/password",
  operation: "requestPasswordReset",
  summary: "Mail a password reset code to a user; the response is the same if no such user exists",
  description: "Mails a code to the address of the user, if there is one.",
  tag: "Users",
  caller: "device",
  addressLimit: "passwordResets",
  parameters: RequestPasswordReset,
  status: 200,
  result: Type.Literal(true),
  errors: [],
  async handle({ caller, call, parameters }, services) {
    const { applicationId } = caller;
    requirePlaceholder(parameters.body);
    const { database, background, resetDelays } = services;
    resetDelays.requireSlot(applicationId);
    const event: AuditEvent = { ...calledBy(caller, call), action: "requestPasswordReset" };
    background.run("mailResetCode", () =>
      mailResetCodes(caller, { ...parameters, language: call.language }, event, services),
    );
    await database.outsideTransaction("a request for a code", () => resetDelays.wait(applicationId));
    return true as const;
  },
});

type ResetRequest = Static<typeof RequestPasswordReset> & Pick<Call, "language">;

async function mailResetCodes(
  caller: Caller,
  request: ResetRequest,
  event: AuditEvent,
  services: Services,
): Promise<void> {
  await services.mailer.load(); // also for unknown users, so that timing does not reveal them
  const { userName } = request;
  const users = await listMeant(userName, caller, services);
  // None waits for the mail of another, or fails with it.
  const put = await Promise.allSettled(users.map((user) => putResetMail(user, request, event, services)));
  await services.mails.settle(put.flatMap((each) => (each.status === "fulfilled" && each.value ? [each.value] : [])));
  for (const each of put) if (each.status === "rejected") throw each.reason;
}

/** @returns the mail to settle, if one was written or refused */
async function putResetMail(
  { application_id: applicationId, id: userId }: UserRow,
  { subject, body, language }: ResetRequest,
  event: AuditEvent,
  services: Services,
): Promise<PutMail | undefined> {
  const { database, audit } = services;
  const put = await database.write(({ queries }) =>
    putMailWithCode(
      {
        ...{ applicationId, userId, kind: "resetCode", addressOf: addressForCodes },
        text: { given: { subject, body } },
        language,
      },
      services,
      queries,
    ),
  );
  if (typeof put !== "object") return undefined;
  // The response must not reveal the refusal, but the audit log lets operators help the user.
  if (put.refusedFor === "form") {
    await audit.note({
      ...event,
      target: userId,
      details: { ...refusedWith("ParameterOutOfRange").details, reason: "email" },
    });
  }
  return put;
}

const resetPassword = operation({
  method: "PATCH",
  path: "/users/password",
  operation: "resetPassword",
  summary: "Set a new password with a mailed code; every token of the user ends",
  description: "Takes the code of the mail. Each code works once and for a limited time.",
  tag: "Users",
  caller: "device",
  addressLimit: "passwordResets",
  parameters: ResetPassword,
  status: 200,
  result: Type.Literal(true),
  errors: [],
  async handle({ caller, parameters, call }, services) {
    const { database, audit } = services;
    const { applicationId, policy } = caller;
    const { userName, newPassword } = parameters;
    await services.newPasswords.require(newPassword, "newPassword", policy.passwords);
    const answerAt = performance.now() + answerAfterMs;
    const users = await listMeant(userName, caller, services);
    const event: AuditEvent = { ...calledBy(caller, call), action: "resetPassword", target: users[0]?.id };
    let isSet = false;
    for (const { id: userId } of users) {
      if (isSet) break;
      const ticket = userTicket(applicationId, call, userId);
      isSet = await setPassword({ applicationId, userId }, parameters, { ...event, target: userId }, ticket, services);
    }
    if (!isSet) await audit.note({ ...event, ...refusedWith("ParameterOutOfRange") });
    await database.outsideTransaction("an answer", () => setTimeout(Math.max(0, answerAt - performance.now())));
    if (!isSet)
      throw new ApiError("ParameterOutOfRange", "resetCode is wrong, used or expired.", { parameter: "resetCode" });
    return true as const;
  },
});

/** The users whose codes a name asks for, or whose code may be meant. */
async function listMeant(userName: string, caller: Caller, { database, clock }: Services): Promise<UserRow[]> {
  const { named, address } = await findMeant(userName, caller, clock.now(), database.reads);
  return [named, address?.owner].filter((user) => user !== undefined);
}

/** @returns false when the code is wrong or expired */
async function setPassword(
  { applicationId, userId }: Pick<StoredCode, "applicationId" | "userId">,
  { resetCode, newPassword }: Static<typeof ResetPassword>,
  event: AuditEvent,
  ticket: HashTicket,
  services: Services,
): Promise<boolean> {
  const { database, passwords, revocations, audit, clock, events } = services;
  const code = await checkCode({ kind: "resetCode", applicationId, userId }, resetCode, services);
  if (code === undefined) return false;
  const passwordHash = await passwords.hash(newPassword, ticket);
  return database.write(async (transaction) => {
    const { queries } = transaction;
    await lockRow(database.dialect, "users", applicationId, userId, queries);
    const used = await deleteUsedCode(code, queries);
    const user = await findUser(applicationId, userId, queries);
    if (used === undefined || user === undefined) return false;
    const at = { dialect: database.dialect, now: clock.now() };
    const settled = settledEmailColumns(user, used.created_at, at.now);
    const now = { ...user, ...settled };
    // The code went to this address: a code does not outlive a change of it.
    const columns = { ...settled, ...(await verifiedColumns(now, now.email, at, queries)) };
    await updateUser(applicationId, userId, { password_hash: passwordHash, ...columns }, queries);
    if (now.email !== user.email) await dropCodes({ applicationId, userId, kind: "verifyCode" }, services, queries);
    await events.record(applicationId, userChangedEvent(user, { ...user, ...columns }), queries);
    await revocations.endUserTokens(applicationId, userId, transaction);
    await audit.record(event, queries);
    return true;
  });
}

/** Password resets by a code that is mailed to the user (spec/users#use-a-reset-code). */
export const userPasswordOperations = [requestPasswordReset, resetPassword];
