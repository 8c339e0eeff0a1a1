import type { Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { CodeMail, PutMail } from "../mail/outbox.ts";
import type { Services } from "../operations/services.ts";
import { addressForCodes } from "./users.email.ts";
import { digestResetCode, newResetCode } from "./users.password.codes.ts";
import { hasYoungResetCode, putResetCode, type ResetCode } from "./users.password.store.ts";
import { findUser } from "./users.store.ts";

/**
 * Stores a new code and its mail.
 *
 * @returns the mail to settle, or the reason why neither was stored: the user has no address, or a code younger than a
 * minute
 */
export async function putMailWithCode(
  applicationId: string,
  userId: string,
  text: Pick<CodeMail, "given" | "own">,
  { database, mails, config, clock }: Pick<Services, "database" | "mails" | "config" | "clock">,
  queries: Queries,
): Promise<PutMail | "noAddress" | "youngCode"> {
  await lockRow(database.dialect, "users", applicationId, userId, queries); // the address must not change meanwhile
  const user = await findUser(applicationId, userId, queries);
  const now = clock.now();
  const to = user === undefined ? null : addressForCodes(user, now);
  if (to === null) return "noAddress";
  if (await hasYoungResetCode(applicationId, userId, now, queries)) return "youngCode";
  const code = newResetCode();
  const expiresAt = now + config.resetCodeLifetimeMs;
  const put = await mails.putCode({ applicationId, userId, to, kind: "resetCode", code, ...text, expiresAt }, queries);
  if (put.due === undefined) return put;
  const stored: ResetCode = { applicationId, userId, digest: digestResetCode(code) };
  await putResetCode(stored, { createdAt: now, expiresAt }, queries);
  return put;
}
