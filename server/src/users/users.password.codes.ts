import type { Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";
import type { CodeMail, PutMail } from "../mail/outbox.ts";
import type { Services } from "../operations/services.ts";
import { addressForCodes } from "./users.email.ts";
import { hasRecentResetCode, putResetCode, type ResetCode } from "./users.password.store.ts";
import { findUser } from "./users.store.ts";

/** 32 characters, so that random bits map to them evenly. Omits 0, O, 1 and I, which are easily confused. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const codeCharacters = 12;

/** Returns a new one-time code: 60 random bits that are easy to type. */
export function newResetCode(): string {
  return Array.from(takeRandomBytes(codeCharacters), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** Returns the digest that is stored and compared. It ignores case, blanks and dashes. */
export function digestResetCode(code: string): string {
  return digestSecret(code.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase());
}

/**
 * Stores a new code and its mail.
 *
 * @returns the mail to settle, or why neither was stored: the user has no address, or a code younger than a minute
 */
export async function putMailWithCode(
  applicationId: string,
  userId: string,
  text: Pick<CodeMail, "given" | "own">,
  { database, mails, config, clock }: Pick<Services, "database" | "mails" | "config" | "clock">,
  queries: Queries,
): Promise<PutMail | "noAddress" | "recentCode"> {
  // Prevents a concurrent change of the address.
  await lockRow(database.dialect, "users", applicationId, userId, queries);
  const user = await findUser(applicationId, userId, queries);
  const now = clock.now();
  const to = user === undefined ? null : addressForCodes(user, now);
  if (to === null) return "noAddress";
  if (await hasRecentResetCode(applicationId, userId, now, queries)) return "recentCode";
  const code = newResetCode();
  const expiresAt = now + config.resetCodeLifetimeMs;
  const put = await mails.putCode({ applicationId, userId, to, kind: "resetCode", code, ...text, expiresAt }, queries);
  if (put.due === undefined) return put;
  const stored: ResetCode = { applicationId, userId, digest: digestResetCode(code) };
  await putResetCode(stored, { createdAt: now, expiresAt }, queries);
  return put;
}
