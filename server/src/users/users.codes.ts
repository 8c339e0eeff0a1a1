import type { Queries } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { addressKey } from "../lib/mail-addresses.ts";
import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";
import type { CodeMail, PutMail } from "../mail/outbox.ts";
import type { Services } from "../operations/services.ts";
import {
  type CodeKind,
  type CodeOwner,
  findCodeDigest,
  hasRecentCode,
  putCode,
  type StoredCode,
  tryCode,
} from "./users.codes.store.ts";
import { keyForCodes } from "./users.email.ts";
import { findUser } from "./users.store.ts";

/** 32 characters, so that random bits map to them evenly. Omits 0, O, 1 and I, which are easily confused. */
const alphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const codeCharacters = 12;

/** Returns a new one-time code: 60 random bits that are easy to type. */
export function newCode(): string {
  return Array.from(takeRandomBytes(codeCharacters), (byte) => alphabet[byte % alphabet.length]).join("");
}

/** Returns the digest of a reset code that is stored and compared. It ignores case, blanks and dashes. */
export function digestResetCode(code: string): string {
  return digestSecret(plainCode(code));
}

function plainCode(code: string): string {
  return code.replaceAll(/[\s\p{Dash}]/gu, "").toUpperCase();
}

/** What is mailed to whom. */
interface CodeRequest {
  readonly applicationId: string;
  readonly userId: string;
  readonly kind: CodeKind;
  /** Returns the address; null to mail none. */
  addressOf(user: UserRow, now: number): string | null;
  readonly text: Pick<CodeMail, "given" | "own">;
  /** Of the call, for a user whose language is unknown. */
  readonly language?: string | undefined;
}

/**
 * Stores a new code and its mail.
 *
 * @returns the mail to settle, or why neither was stored: the user has no address, or a code younger than a minute
 */
export async function putMailWithCode(
  { applicationId, userId, kind, addressOf, text, language }: CodeRequest,
  {
    database,
    mails,
    config,
    clock,
    codeSigner,
  }: Pick<Services, "database" | "mails" | "config" | "clock" | "codeSigner">,
  queries: Queries,
): Promise<PutMail | "noAddress" | "recentCode"> {
  // Prevents a concurrent change of the address.
  await lockRow(database.dialect, "users", applicationId, userId, queries);
  const user = await findUser(applicationId, userId, queries);
  const now = clock.now();
  const to = user === undefined ? null : addressOf(user, now);
  if (to === null) return "noAddress";
  const owner = { applicationId, userId, kind };
  if (await hasRecentCode(owner, to, now, queries)) return "recentCode";
  const code = newCode();
  const expiresAt = now + config.resetCodeLifetimeMs;
  const isVerified = user !== undefined && addressKey(to) === keyForCodes(user, now);
  const mail = { ...owner, to, isVerified, language: user?.language ?? language, code, ...text, expiresAt };
  const put = await mails.putCode(mail, queries);
  if (put.due === undefined) return put;
  const digest = kind === "resetCode" ? digestResetCode(code) : codeSigner.sign(code);
  await putCode({ ...owner, digest }, { to, createdAt: now, expiresAt }, queries);
  return put;
}

/**
 * Counts an attempt of a code, outside of any transaction, so that a rollback does not refund it.
 *
 * @returns the code, to be used up by `deleteUsedCode`; undefined when it is wrong or no longer valid
 */
export async function checkCode(
  owner: CodeOwner,
  given: string,
  { database, clock, codeSigner }: Pick<Services, "database" | "clock" | "codeSigner">,
): Promise<StoredCode | undefined> {
  const code = plainCode(given);
  const attempt = `${owner.kind} ${owner.userId} ${digestSecret(code)}`;
  return database.outsideTransaction(
    attempt,
    async () => {
      const stored = { ...owner, digest: await digestOf(owner, code, codeSigner, clock.now(), database.reads) };
      const isMatch = await database.write(({ queries }) => tryCode(stored, clock.now(), queries));
      return isMatch ? stored : undefined;
    },
    { hasEffect: true },
  );
}

/** The digest of a code. That of a verify code may have been made with an older secret of the deployment. */
async function digestOf(
  owner: CodeOwner,
  code: string,
  codeSigner: Services["codeSigner"],
  now: number,
  queries: Queries,
): Promise<string> {
  if (owner.kind === "resetCode") return digestSecret(code);
  const stored = await findCodeDigest(owner, now, queries);
  return stored !== undefined && codeSigner.isSigned(code, stored) ? stored : codeSigner.sign(code);
}
