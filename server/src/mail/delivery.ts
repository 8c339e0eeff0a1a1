import { randomUUID } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { parseSender } from "../config/mail-sender.ts";
import type { Database } from "../db/database.ts";
import type { Background } from "../jobs/background.ts";
import { takeLease } from "../jobs/leases.ts";
import type { Clock } from "../lib/clock.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { loadMailSettings, type SettingsSealer } from "../tenancy/sealed-settings.ts";
import { attemptMail, type MailOutcome, type Outgoing } from "./attempt.ts";
import { MailLanes } from "./lanes.ts";
import { createMailServers } from "./mail-servers.ts";
import type { Mailer } from "./mailer.ts";
import { claimMail, type DueMail, findApplicationWithDueMail, hasDueMail, listDueMails } from "./outbox.store.ts";
import { createOutboxSealer } from "./outbox-seal.ts";

/** Sends the mails of the outbox, with a limit of concurrent mails per application and per server. */
export interface Delivery {
  /**
   * Sends a mail as soon as its application and its server have a free slot. Resolves after the attempt, or without one
   * when memory is full or the server is backing off: the row stays for a later search.
   */
  send(applicationId: string, mail: DueMail): Promise<void>;
  /** Searches the whole database for due mails; one process at a time does. */
  addDue(): Promise<void>;
  statistics(): { readonly outcomes: Readonly<Record<MailOutcome, number>>; readonly sending: number };
}

const applicationsPerRoundMax = 500;
const claimMs = 60_000;
const leaseMs = 6_000;

export function createDelivery(
  config: Pick<Config, "smtpUrl" | "mailFrom">,
  services: {
    readonly database: Database;
    readonly background: Background;
    readonly mailer: Mailer;
    readonly settingsSealer: SettingsSealer;
    readonly secrets: Secrets;
    readonly clock: Clock;
    readonly log: Log;
  },
): Delivery {
  const { database, background, mailer, settingsSealer, secrets, clock, log } = services;
  const sealer = createOutboxSealer(secrets);
  const servers = createMailServers(clock);
  const lanes = new MailLanes(sendOne, log);
  const lease = { name: "mail", holder: randomUUID() };
  const outcomes: Record<MailOutcome, number> = { sent: 0, failed: 0, dead: 0, expired: 0 };
  let cursor = "";

  async function sendOne(applicationId: string, due: DueMail): Promise<void> {
    const outgoing = await findOutgoing(applicationId, config, { database, settingsSealer });
    const release = await servers.acquire(outgoing.smtpUrl);
    try {
      if (servers.isBackingOff(outgoing.smtpUrl)) {
        lanes.clear(applicationId);
        return;
      }
      const claimed = await database.write(({ queries }) =>
        claimMail(applicationId, due, clock.now() + claimMs, queries),
      );
      if (claimed === undefined) return;
      outcomes[await attemptMail(claimed, outgoing, { database, mailer, servers, sealer, clock, log })] += 1;
    } finally {
      release();
    }
  }

  return {
    send: (applicationId, mail) => lanes.add(applicationId, mail),

    async addDue() {
      const now = clock.now();
      // Writes nothing while no mail is due, because every commit makes other processes check their tokens again.
      if (!(await hasDueMail(now, database.reads))) return;
      if (!(await database.write(({ queries }) => takeLease(lease, now, now + leaseMs, queries)))) return;
      for (let count = 0; count < applicationsPerRoundMax; count += 1) {
        const found = await findApplicationWithDueMail(cursor, now, database.reads);
        cursor = found ?? "";
        if (found === undefined) return;
        for (const mail of await listDueMails(found, now, lanes.roomOf(found), database.reads)) {
          background.run("sendMail", () => lanes.add(found, mail));
        }
      }
    },

    statistics: () => ({ outcomes, sending: lanes.sendingCount }),
  };
}

/** The delivery settings of an application: its own, else those of the deployment. */
export async function findOutgoing(
  applicationId: string,
  config: Pick<Config, "smtpUrl" | "mailFrom">,
  { database, settingsSealer }: { readonly database: Database; readonly settingsSealer: SettingsSealer },
): Promise<Outgoing> {
  const mail = await loadMailSettings(applicationId, settingsSealer, database.reads);
  const { from, smtpUrl, isLocked, isPublicOnly } = mail;
  return {
    isLocked,
    isPublicOnly: smtpUrl !== undefined && isPublicOnly,
    smtpUrl: smtpUrl ?? config.smtpUrl,
    from: (from === undefined ? undefined : parseSender(from)) ?? config.mailFrom,
  };
}

const lookEveryMs = 5_000;

/** Searches for due mails, at once and then every five seconds. */
export function startDelivery(
  { delivery, log }: { readonly delivery: Delivery; readonly log: Log },
  everyMs = lookEveryMs,
): { stop(): Promise<void> } {
  let looking: Promise<void> | undefined;
  const look = () => {
    looking ??= delivery
      .addDue()
      .catch((err) => log.warn({ err }, "the search for due mails failed; it is tried again"))
      .finally(() => {
        looking = undefined;
      });
  };
  look();
  const timer = setInterval(look, everyMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
