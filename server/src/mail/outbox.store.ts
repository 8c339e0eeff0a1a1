import type { Selectable } from "kysely";
import type { Queries } from "../db/database.ts";
import type { Tables } from "../db/tables.ts";
import { createSealer } from "../lib/seal.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import type { MailText } from "./mail-texts.ts";

export type OutboxRow = Selectable<Tables["mail_outbox"]>;

/** A row, and the due time with which a process may claim it. */
export interface DueMail {
  readonly id: string;
  readonly dueAt: number;
}

export async function insertMail(row: OutboxRow, queries: Queries): Promise<void> {
  await queries.insertInto("mail_outbox").values(row).execute();
}

/** True when the application's outbox has reached `rowsMax` waiting mails. */
export async function isOutboxFull(applicationId: string, rowsMax: number, queries: Queries): Promise<boolean> {
  const last = await queries
    .selectFrom("mail_outbox")
    .select("id")
    .where("application_id", "=", applicationId)
    .orderBy("id")
    .limit(1)
    .offset(rowsMax - 1)
    .executeTakeFirst();
  return last !== undefined;
}

/** Claims a mail until a later time. @returns undefined when another process has claimed it, or it is gone */
export function claimMail(
  applicationId: string,
  { id, dueAt }: DueMail,
  until: number,
  queries: Queries,
): Promise<OutboxRow | undefined> {
  return queries
    .updateTable("mail_outbox")
    .set((row) => ({ due_at: until, attempts: row("attempts", "+", 1) }))
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .where("due_at", "=", dueAt)
    .returningAll()
    .executeTakeFirst();
}

export async function postponeMail(applicationId: string, id: string, dueAt: number, queries: Queries): Promise<void> {
  await queries
    .updateTable("mail_outbox")
    .set({ due_at: dueAt })
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

export async function deleteMail(applicationId: string, id: string, queries: Queries): Promise<void> {
  await queries.deleteFrom("mail_outbox").where("application_id", "=", applicationId).where("id", "=", id).execute();
}

/** Deletes the waiting mails with a user's invalid codes. */
export async function deleteMailsOfKind(
  applicationId: string,
  userId: string,
  kind: string,
  queries: Queries,
): Promise<void> {
  await queries
    .deleteFrom("mail_outbox")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("kind", "=", kind)
    .execute();
}

/** True when any application has a mail that is due. */
export async function hasDueMail(now: number, queries: Queries): Promise<boolean> {
  const due = await queries
    .selectFrom("mail_outbox")
    .select("id")
    .where("due_at", "<=", now)
    .limit(1)
    .executeTakeFirst();
  return due !== undefined;
}

/** The next application, ordered by id, that has a due mail. */
export async function findApplicationWithDueMail(
  after: string,
  now: number,
  queries: Queries,
): Promise<string | undefined> {
  const row = await queries
    .selectFrom("mail_outbox")
    .select("application_id")
    .where("application_id", ">", after)
    .where("due_at", "<=", now)
    .orderBy("application_id")
    .limit(1)
    .executeTakeFirst();
  return row?.application_id;
}

/** Lists some due mails of an application, ordered by due time. */
export async function listDueMails(
  applicationId: string,
  now: number,
  count: number,
  queries: Queries,
): Promise<DueMail[]> {
  const rows = await queries
    .selectFrom("mail_outbox")
    .select(["id", "due_at"])
    .where("application_id", "=", applicationId)
    .where("due_at", "<=", now)
    .orderBy("due_at")
    .limit(count)
    .execute();
  return rows.map(({ id, due_at }) => ({ id, dueAt: due_at }));
}

/** The sealed content of an outbox row. */
export interface MailContent extends MailText {
  readonly to: string;
  readonly messageId: string;
}

/** Seals the contents of the outbox, each bound to its row. */
export interface OutboxSealer {
  seal(applicationId: string, id: string, content: MailContent): string;
  /** Undefined when it was sealed under another secret. */
  open(applicationId: string, id: string, sealed: string): MailContent | undefined;
}

export function createOutboxSealer(secrets: Secrets): OutboxSealer {
  const sealer = createSealer(secrets, "mail outbox");
  return {
    seal: (applicationId, id, content) => sealer.seal(JSON.stringify(content), `${applicationId} ${id}`),
    open(applicationId, id, sealed) {
      const opened = sealer.open(sealed, `${applicationId} ${id}`);
      return opened === undefined ? undefined : JSON.parse(opened); // the seal authenticates its shape
    },
  };
}
