import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Queries } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { parseApplicationSettings } from "../tenancy/application-settings.ts";
import type { GivenMailText, MailSettings, MailTextKind } from "../tenancy/mail-settings.ts";
import { createMailAdmission, type MailRefusal, type Notice, type Recipient } from "./admission.ts";
import type { Delivery } from "./delivery.ts";
import {
  checkClientText,
  clientText,
  codePlaceholders,
  type MailSource,
  type MailText,
  noticePlaceholder,
  noticeText,
  ownText,
  ownTexts,
  type ReplacedFor,
} from "./mail-texts.ts";
import { createOutboxSealer, type DueMail, deleteMailsOfKind, insertMail } from "./outbox.store.ts";

/** A mail with a one-time code. */
export interface CodeMail extends Recipient {
  readonly kind: keyof typeof codePlaceholders;
  readonly code: string;
  /** The client's text for it, which is sent only if it is harmless. */
  readonly given?: { readonly subject?: string | undefined; readonly body?: string | undefined };
  /** An operator's text in place of the application's own. */
  readonly own?: Partial<GivenMailText>;
  readonly expiresAt: number;
}

/** The outcome of a mail in its transaction; pass it to {@link Outbox.settle} after the commit. */
export interface PutMail {
  readonly applicationId: string;
  readonly userId: string;
  /** The row that was written, unless the mail was refused. */
  readonly due?: DueMail;
  readonly refusedFor?: MailRefusal;
  readonly replacedFor?: ReplacedFor | undefined;
}

/** Mails that callers cause: their limits, contents, and the rows from which they are delivered. */
export interface Outbox {
  /** Writes a mail in the transaction of its code. Without `due` in the result the code must not be stored. */
  putCode(mail: CodeMail, queries: Queries): Promise<PutMail>;
  /** Writes a mail in the transaction of the change. */
  putNotice(notice: Notice, queries: Queries): Promise<PutMail>;
  /** Deletes mails whose codes are no longer valid. */
  dropCodes(applicationId: string, userId: string, kind: CodeMail["kind"], queries: Queries): Promise<void>;
  /**
   * Counts and logs the outcomes of mails, and sends the written ones. Must run in the background after the commit, and
   * only once even if the transaction was retried.
   */
  settle(put: readonly PutMail[]): Promise<void>;
  /** @returns false when no further test mail of the application may be sent within the hour */
  admitTest(applicationId: string, queries: Queries): Promise<boolean>;
  /** @returns false when no further mail about webhooks of the application may be sent within the day */
  admitWebhookMail(applicationId: string, queries: Queries): Promise<boolean>;
  statistics(): MailStatistics;
}

export interface MailStatistics {
  readonly refused: Readonly<Record<MailRefusal, number>>;
  readonly replaced: Readonly<Record<ReplacedFor, number>>;
}

const dayMs = 86_400_000;
/** The process that wrote a mail sends it immediately; other processes may send it after this time. */
const headStartMs = 5_000;

export function createOutbox(
  { mailFrom }: Pick<Config, "mailFrom">,
  services: {
    readonly delivery: Pick<Delivery, "send">;
    readonly secrets: Secrets;
    readonly clock: Clock;
    readonly ids: IdGenerator;
    readonly log: Log;
  },
): Outbox {
  const { delivery, secrets, clock, ids, log } = services;
  const sealer = createOutboxSealer(secrets);
  const admission = createMailAdmission(secrets, clock);
  const refused: Record<MailRefusal, number> = { user: 0, address: 0, notices: 0, outbox: 0, form: 0 };
  const replaced: Record<ReplacedFor, number> = { length: 0, link: 0, hourly: 0 };

  async function write(
    { applicationId, userId, to }: Recipient,
    kind: MailTextKind,
    text: MailText,
    expiresAt: number,
    queries: Queries,
  ): Promise<DueMail> {
    const id = ids.newId("Mail");
    const messageId = `<${id}@${mailFrom.address.split("@").at(-1)}>`;
    const dueAt = clock.now() + headStartMs;
    const row = {
      application_id: applicationId,
      id,
      user_id: userId,
      kind,
      sealed: sealer.seal(applicationId, id, { ...text, to, messageId }),
      attempts: 0,
      due_at: dueAt,
      expires_at: expiresAt,
    };
    await insertMail(row, queries);
    return { id, dueAt };
  }

  /** Returns the reason why a client's text is not sent, if any. A text to an unverified address is counted. */
  async function checkText(
    { applicationId, isVerified = false }: CodeMail,
    given: NonNullable<CodeMail["given"]>,
    placeholder: string,
    mail: MailSettings,
    queries: Queries,
  ): Promise<ReplacedFor | undefined> {
    const reason = checkClientText({ subject: given.subject ?? "", body: given.body ?? "" }, placeholder, mail);
    if (reason !== undefined || isVerified) return reason;
    return (await admission.admitClientText(applicationId, queries)) ? undefined : "hourly";
  }

  return {
    async putCode(mail, queries) {
      const { applicationId, userId, kind, code, given, own, expiresAt } = mail;
      const refusedFor = await admission.admitCode(mail, queries);
      if (refusedFor !== undefined) return { applicationId, userId, refusedFor };
      const source = await loadMailSource(mail, queries);
      const placeholder = codePlaceholders[kind];
      const asked = source.settings.templates === "fixed" ? undefined : given;
      const replacedFor = asked && (await checkText(mail, asked, placeholder, source.settings, queries));
      const text =
        asked === undefined || replacedFor !== undefined
          ? ownText(kind, { placeholder, value: code }, source, own)
          : clientText(completed(asked, ownTexts(kind, source)), placeholder, code, source);
      return { applicationId, userId, due: await write(mail, kind, text, expiresAt, queries), replacedFor };
    },

    async putNotice(notice, queries) {
      const { applicationId, userId, language } = notice;
      const refusedFor = await admission.admitNotice(notice, queries);
      if (refusedFor !== undefined) return { applicationId, userId, refusedFor };
      const source = await loadMailSource(notice, queries);
      const value = noticeText(notice.notice, language);
      const filled = ownText("notice", { placeholder: noticePlaceholder, value }, source);
      return { applicationId, userId, due: await write(notice, "notice", filled, clock.now() + dayMs, queries) };
    },

    dropCodes: deleteMailsOfKind,
    admitTest: admission.admitTest,
    admitWebhookMail: admission.admitWebhookMail,

    async settle(put) {
      for (const { applicationId, userId, refusedFor, replacedFor } of put) {
        const recipient = { application: applicationId, user: userId };
        if (refusedFor !== undefined) {
          refused[refusedFor] += 1;
          log.warn({ ...recipient, reason: refusedFor }, refusalTexts[refusedFor]);
        }
        if (replacedFor !== undefined) {
          replaced[replacedFor] += 1;
          log.warn({ ...recipient, reason: replacedFor }, "a client's text was replaced by the application's own");
        }
      }
      await Promise.all(put.map(({ applicationId, due }) => due && delivery.send(applicationId, due)));
    },

    statistics: () => ({ refused, replaced }),
  };
}

/** A client's text, with the application's own in place of what is missing. */
function completed({ subject, body }: NonNullable<CodeMail["given"]>, own: GivenMailText): GivenMailText {
  return { subject: subject ?? own.subject, body: body ?? own.body };
}

const refusalTexts: Readonly<Record<MailRefusal, string>> = {
  user: "no mail was sent: the user has reached the hourly limit",
  address: "no mail was sent: the address has reached the hourly limit",
  notices: "no notice was sent: the user or the address has reached the daily limit",
  outbox: "no mail was sent: too many mails of the application wait for delivery",
  form: "no mail was sent: the user's email is not a single plain address",
};

async function loadMailSource({ applicationId, language }: Recipient, queries: Queries): Promise<MailSource> {
  const { name, settings } = await queries
    .selectFrom("applications")
    .select(["name", "settings"])
    .where("application_id", "=", applicationId)
    .executeTakeFirstOrThrow();
  return { name, settings: parseApplicationSettings(settings).mail ?? {}, language };
}
