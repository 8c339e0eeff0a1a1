import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import { operatorTicket } from "../auth/guard/hash-queue.ts";
import type { Call } from "../contract/call.ts";
import type { OperatorCaller } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { findOperator } from "./operators.store.ts";

/** The current password that an operator with a session sends as proof. */
interface PasswordAttempt {
  readonly caller: OperatorCaller;
  readonly password: string;
  readonly call: Call;
  /** The operation name for the audit log. */
  readonly action: string;
}

/**
 * Limits guesses like a sign-in, and records a wrong password in the audit log.
 *
 * @returns the hash of the current password
 * @throws ApiError AuthFailed, RateLimitExceeded, and `refusal` for a wrong password
 */
export async function requireCurrentPassword(
  { caller, password, call, action }: PasswordAttempt,
  refusal: "AuthBadUsernameOrPassword" | "AuthFailed",
  { database, passwords, signInGuard, audit }: Services,
): Promise<string> {
  const { operatorId } = caller;
  const operator = await findOperator(operatorId, database.reads);
  if (operator === undefined) throw new ApiError("AuthFailed"); // deleted after the session check
  const { name, password_hash } = operator;
  // Counted with the failed sign-ins under this name, because the guesses are for the same password.
  const origin = { deviceId: undefined, recognizedOrigin: undefined, hasToken: true, address: call.address };
  const attempt = { applicationId: undefined, nameKey: name, ...origin };
  const ticket = operatorTicket(call, operatorId);
  const isRight = await database.outsideTransaction(
    `current password ${password_hash} ${password}`,
    () => signInGuard.check(attempt, () => passwords.verify(password_hash || undefined, password, ticket)),
    { hasEffect: true },
  );
  if (isRight) return password_hash;
  const event: AuditEvent = { ...calledBy(caller, call), action, target: operatorId };
  await audit.note({ ...event, ...refusedWith(refusal) });
  throw new ApiError(refusal, refusal === "AuthFailed" ? "The password is wrong." : undefined);
}
