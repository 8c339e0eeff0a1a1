import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";

const triesMax = 5;
const recentMs = 60_000;

/** What a mailed code is for: a new password, or the verification of an address. The words are those of the mails. */
export type CodeKind = "resetCode" | "verifyCode";

const tables: Readonly<Record<CodeKind, string>> = { resetCode: "password_resets", verifyCode: "email_codes" };

/** A user's code of one kind, as stored. */
export interface StoredCode {
  readonly kind: CodeKind;
  readonly applicationId: string;
  readonly userId: string;
  readonly digest: string;
}

export type CodeOwner = Omit<StoredCode, "digest">;

/** Stores a new code and replaces the previous one of its kind. */
export async function putCode(
  { digest, ...owner }: StoredCode,
  { to, createdAt, expiresAt }: { readonly to: string; readonly createdAt: number; readonly expiresAt: number },
  queries: Queries,
): Promise<void> {
  const values = {
    ...{ digest, tries_left: triesMax, expires_at: expiresAt, created_at: createdAt },
    ...(owner.kind === "verifyCode" && { address: to }),
  };
  const names = sql.join(Object.keys(values).map((name) => sql.ref(name)));
  const changes = sql.join(Object.keys(values).map((name) => sql`${sql.ref(name)} = excluded.${sql.ref(name)}`));
  await sql`
    insert into ${tableOf(owner)} (application_id, user_id, ${names})
    values (${owner.applicationId}, ${owner.userId}, ${sql.join(Object.values(values))})
    on conflict (application_id, user_id) do update set ${changes}`.execute(queries);
}

/** Whether the user has a valid code younger than a minute; to verify an address, one for that address. */
export async function hasRecentCode(owner: CodeOwner, to: string, now: number, queries: Queries): Promise<boolean> {
  const isForAddress = owner.kind === "verifyCode" ? sql`address = ${to}` : sql`1 = 1`;
  // A code from further in the future was created under a wrong clock.
  const { rows } = await sql`
    select 1 from ${tableOf(owner)}
    where ${isValid(owner, now)} and created_at > ${now - recentMs} and created_at < ${now + recentMs} and ${isForAddress}
    `.execute(queries);
  return rows.length > 0;
}

/** The digest of the user's valid code. */
export async function findCodeDigest(owner: CodeOwner, now: number, queries: Queries): Promise<string | undefined> {
  const found = sql<{ digest: string }>`select digest from ${tableOf(owner)} where ${isValid(owner, now)}`;
  return (await found.execute(queries)).rows[0]?.digest;
}

/**
 * Compares a code with the stored one while it has attempts left. A wrong code costs an attempt in the same statement,
 * so that concurrent guesses cannot exceed the limit.
 */
export async function tryCode({ digest, ...owner }: StoredCode, now: number, queries: Queries): Promise<boolean> {
  const { rows } = await sql<{ digest: string }>`
    update ${tableOf(owner)} set tries_left = case when digest = ${digest} then tries_left else tries_left - 1 end
    where ${isValid(owner, now)}
    returning digest`.execute(queries);
  return rows[0]?.digest === digest;
}

/** Deletes codes that were sent to a former address, or for a former password. */
export async function deleteCodes(owner: CodeOwner, queries: Queries): Promise<void> {
  await sql`delete from ${tableOf(owner)} where ${isOf(owner)}`.execute(queries);
}

/**
 * Deletes a code that matched, because it is valid once.
 *
 * @returns when it was mailed, and the address that it verifies; undefined when a concurrent call used or replaced it
 */
export async function deleteUsedCode(
  { digest, ...owner }: StoredCode,
  queries: Queries,
): Promise<{ readonly created_at: number; readonly address?: string } | undefined> {
  const { rows } = await sql<{ created_at: number; address?: string }>`
    delete from ${tableOf(owner)} where ${isOf(owner)} and digest = ${digest}
    returning *`.execute(queries);
  return rows[0];
}

function tableOf({ kind }: CodeOwner): RawBuilder<unknown> {
  return sql.table(tables[kind]);
}

function isOf({ applicationId, userId }: CodeOwner): RawBuilder<unknown> {
  return sql`application_id = ${applicationId} and user_id = ${userId}`;
}

function isValid(owner: CodeOwner, now: number): RawBuilder<unknown> {
  return sql`${isOf(owner)} and tries_left > 0 and expires_at > ${now}`;
}
