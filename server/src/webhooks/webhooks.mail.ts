import { setTimeout as sleep } from "node:timers/promises";
import { findOutgoing } from "../mail/delivery.ts";
import { MailFailure } from "../mail/mailer.ts";
import type { Services } from "../services.ts";
import { loadApplicationSettings } from "../tenancy/application-settings.ts";
import type { WebhookName } from "./webhooks.serving.store.ts";

type MailServices = Pick<
  Services,
  "background" | "config" | "database" | "ids" | "log" | "mailer" | "mails" | "settingsSealer"
>;

/** The delays between attempts, while the mail server does not accept the mail. */
const retryMs = [10_000, 60_000, 600_000] as const;

/**
 * Mails to `webhooks.mail` of the application's settings that a webhook has been disabled (spec/webhooks#failing). The process
 * that disabled it sends the mail, so that a crash may lose it; the state of the webhook and the event remain.
 */
export function mailAboutDisabled(name: WebhookName, services: MailServices): void {
  services.background.run(`mail about ${name.id}`, (signal) => mail(name, services, signal));
}

async function mail({ applicationId, id }: WebhookName, services: MailServices, signal: AbortSignal): Promise<void> {
  const { config, database, ids, log, mailer, mails } = services;
  const { webhooks } = await loadApplicationSettings(applicationId, database.reads);
  const to = webhooks?.mail;
  if (to === undefined) return;
  const isAdmitted = await database.write(({ queries }) => mails.admitWebhookMail(applicationId, queries));
  if (!isAdmitted) {
    log.warn(
      { application: applicationId, webhook: id },
      "no mail about a webhook was sent: the daily limit is reached",
    );
    return;
  }
  const application = await database.reads
    .selectFrom("applications")
    .select("name")
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  const name = application?.name ?? applicationId;
  const subject = `${name}: a webhook was disabled`;
  const text = [
    `The webhook ${id} of ${name} receives no events any more, because its receiver did not accept them.`,
    "",
    "Events wait as long as the log keeps them. Resume the webhook when the receiver works again.",
    "",
  ].join("\n");
  const mailId = ids.newId("Mail");
  for (const waitMs of [...retryMs, undefined]) {
    const { smtpUrl, isLocked, isPublicOnly, from } = await findOutgoing(applicationId, config, services);
    const messageId = `<${mailId}@${from.address.split("@").at(-1)}>`;
    try {
      if (!isLocked) return await mailer.send({ to, subject, text, messageId, from }, smtpUrl, isPublicOnly);
    } catch (err) {
      if (!(err instanceof MailFailure) || waitMs === undefined) throw err;
    }
    if (waitMs !== undefined) await sleep(waitMs, undefined, { signal, ref: false });
  }
}
