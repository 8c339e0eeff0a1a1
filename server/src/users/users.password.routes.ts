import { setTimeout } from "node:timers/promises";
import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Background } from "../background.ts";
import { parseSender } from "../config.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { type Static, Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { Mailer } from "../mail/mailer.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import { userNameKey } from "./users.names.ts";
import { digestResetCode, newResetCode } from "./users.password.codes.ts";
import { RequestPasswordReset, ResetPassword, resetCodePlace } from "./users.password.contract.ts";
import {
  deleteResetCode,
  putResetCode,
  type ResetCode,
  tryResetCode,
  updateUserPassword,
} from "./users.password.store.ts";
import { findUserByName } from "./users.store.ts";

/** When every request is answered, longer than the work takes: the time must not tell who has an account. */
const answerAfterMs = 200;
/** Requests for a mail that may wait for their answers. */
const waitingMax = 64;

/** A new password by a code that is mailed to the user (surface.md section 5). */
export function usersPasswordRoutes(services: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly revocations: Revocations;
  readonly background: Background;
  readonly mailer: Mailer;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly resetCodeLifetimeMs: number;
}): Route[] {
  const { database, passwords, revocations, background, mailer, audit, clock, resetCodeLifetimeMs } = services;
  let waiting = 0;

  async function mailResetCode(
    applicationId: string,
    { userName, subject, body }: Static<typeof RequestPasswordReset>,
  ): Promise<void> {
    await mailer.load(); // whoever it is for
    const { from, smtpUrl } = (await loadApplicationSettings(applicationId, database.reads)).mail ?? {};
    const user = await findUserByName(applicationId, userNameKey(userName), database.reads);
    if (user === undefined || user.email === null) return;
    const code = newResetCode();
    const stored: ResetCode = { applicationId, userId: user.id, digest: digestResetCode(code) };
    await database.write(({ queries }) => putResetCode(stored, clock.now() + resetCodeLifetimeMs, queries));
    const text = body.replaceAll(resetCodePlace, code);
    const outgoing = { ...(smtpUrl && { smtpUrl }), from: from === undefined ? undefined : parseSender(from) };
    await mailer.send({ userId: user.id, to: user.email, subject, text, outgoing });
  }

  const requestPasswordReset = route({
    method: "POST",
    path: "/users/password",
    operation: "requestPasswordReset",
    summary: "Mail a one-time code for a new password to a user; the answer is the same whether there is one or not",
    tag: "Users",
    caller: "device",
    addressLimit: "passwordResets",
    parameters: RequestPasswordReset,
    status: 200,
    result: Type.Literal(true),
    errors: [],
    async handle({ caller, parameters }) {
      if (!parameters.body.includes(resetCodePlace)) {
        throw new ApiError("ParameterIncorrectFormat", `body must contain ${resetCodePlace}.`);
      }
      // Counts requests, not mails: how many of those are on their way depends on who has an account.
      if (waiting >= waitingMax) {
        throw new ApiError("ServiceUnavailable", "Too many password resets are being asked for. Try again.");
      }
      background.run("mailResetCode", () => mailResetCode(caller.applicationId, parameters));
      await database.apart("a request for a code", async () => {
        waiting += 1;
        await setTimeout(answerAfterMs);
        waiting -= 1;
      });
      return true as const;
    },
  });

  /** @returns false when the code is wrong or dead */
  async function setPassword(
    { applicationId, userId }: Pick<ResetCode, "applicationId" | "userId">,
    { resetCode, newPassword }: Static<typeof ResetPassword>,
    event: AuditEvent,
  ): Promise<boolean> {
    const code: ResetCode = { applicationId, userId, digest: digestResetCode(resetCode) };
    // A try counts, whatever becomes of the rest: else codes could be tried in transactions that are undone.
    const tried = `reset code ${code.userId} ${code.digest}`;
    const isAlike = await database.apart(
      tried,
      () => database.write(({ queries }) => tryResetCode(code, clock.now(), queries)),
      { hasEffect: true },
    );
    if (!isAlike) return false;
    const passwordHash = await passwords.hash(newPassword);
    return database.write(async (transaction) => {
      const { queries } = transaction;
      const isOurs = await deleteResetCode(code, queries);
      if (!isOurs || !(await updateUserPassword(code, passwordHash, queries))) return false;
      await revocations.endUserTokens(applicationId, userId, transaction);
      await audit.record(event, queries);
      return true;
    });
  }

  const resetPassword = route({
    method: "PATCH",
    path: "/users/password",
    operation: "resetPassword",
    summary: "Set a new password with a mailed code; every token of the user ends",
    tag: "Users",
    caller: "device",
    addressLimit: "passwordResets",
    parameters: ResetPassword,
    status: 200,
    result: Type.Literal(true),
    errors: [],
    async handle({ caller, parameters, call }) {
      const answerAt = performance.now() + answerAfterMs;
      const { applicationId } = caller;
      const user = await findUserByName(applicationId, userNameKey(parameters.userName), database.reads);
      const event: AuditEvent = { ...calledBy(caller, call), action: "resetPassword", target: user?.id };
      const isSet = user !== undefined && (await setPassword({ applicationId, userId: user.id }, parameters, event));
      if (!isSet) await audit.note({ ...event, ...refusedWith("ParameterOutOfRange") });
      await database.apart("an answer", () => setTimeout(Math.max(0, answerAt - performance.now())));
      if (!isSet) throw new ApiError("ParameterOutOfRange", "resetCode is wrong, used or expired.");
      return true as const;
    },
  });

  return [requestPasswordReset, resetPassword];
}
