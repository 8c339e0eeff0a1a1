import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database, Queries } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import { findOutgoing } from "../mail/delivery.ts";
import { type Mailer, MailFailure } from "../mail/mailer.ts";
import type { Outbox } from "../mail/outbox.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import type { SettingsSealer } from "../tenancy/sealed-settings.ts";
import { claimMail, updateWebhook, type WebhookKey } from "./webhooks.store.ts";

export interface MailServices {
  readonly clock: Clock;
  readonly config: Pick<Config, "smtpUrl" | "mailFrom">;
  readonly database: Database;
  readonly log: Log;
  readonly mailer: Mailer;
  readonly mails: Outbox;
  readonly settingsSealer: SettingsSealer;
}

/** The delay before the next attempt, after the mail server refused the mail or the process crashed. */
const retryMs = 600_000;
const dayMs = 86_400_000;

/**
 * Whether the address in `webhooks.mail` of the application's settings receives a mail (spec/webhooks#failing) about a
 * webhook that the transaction disables. The due time is stored in the webhook's row, so that the mail survives a
 * crash.
 */
export async function admitMailAboutDisabled(
  { applicationId, id }: WebhookKey,
  { log, mails }: Pick<MailServices, "log" | "mails">,
  queries: Queries,
): Promise<boolean> {
  const { webhooks } = await loadApplicationSettings(applicationId, queries);
  if (webhooks?.mail === undefined) return false;
  const isAdmitted = await mails.admitWebhookMail(applicationId, queries);
  const what = { application: applicationId, webhook: id };
  if (!isAdmitted) log.warn(what, "no mail about a webhook was sent: the daily limit is reached");
  return isAdmitted;
}

/** Sends the mail about a disabled webhook if it is due and no other process has claimed it. */
export async function mailAboutDisabled(key: WebhookKey, services: MailServices): Promise<void> {
  const { clock, database, log } = services;
  const now = clock.now();
  const disabledAt = await database.write(({ queries }) => claimMail(key, now, now + retryMs, queries));
  if (disabledAt === undefined) return;
  try {
    await send(key, services);
  } catch (err) {
    if (!(err instanceof MailFailure)) throw err;
    log.warn({ err, webhook: key.id }, "a mail about a webhook was not sent");
    if (now - disabledAt < dayMs) return; // a later scan tries again
  }
  await database.write(({ queries }) => updateWebhook(key, { mail_due_at: null }, queries));
}

/** @throws MailFailure */
async function send({ applicationId, id }: WebhookKey, services: MailServices): Promise<void> {
  const { config, database, mailer } = services;
  const { webhooks } = await loadApplicationSettings(applicationId, database.reads);
  if (webhooks?.mail === undefined) return;
  const application = await database.reads
    .selectFrom("applications")
    .select("name")
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  const name = application?.name ?? applicationId;
  const { smtpUrl, isLocked, isPublicOnly, from } = await findOutgoing(applicationId, config, services);
  if (isLocked) throw new MailFailure({ name: "mail.smtpUrl is sealed under another secret, set it again" });
  const text = [
    `The webhook ${id} of ${name} receives no events any more, because its receiver did not accept them.`,
    "",
    "Events wait as long as the log keeps them. Resume the webhook when the receiver works again.",
    "",
  ].join("\n");
  const messageId = `<${id}.disabled@${from.address.split("@").at(-1)}>`;
  const subject = `${name}: a webhook was disabled`;
  await mailer.send({ to: webhooks.mail, subject, text, messageId, from }, smtpUrl, isPublicOnly);
}
