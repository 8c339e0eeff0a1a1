import { randomUUID } from "node:crypto";
import type { Background } from "../background.ts";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { takeLease } from "../db/leases.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../log.ts";
import { parseSender } from "../settings/mail-sender.ts";
import { loadMailSettings, type SettingsSealer } from "../tenancy/sealed-settings.ts";
import { createMailServers } from "./mail-servers.ts";
import { type Mailer, MailFailure, type Sender } from "./mailer.ts";
import {
  claimMail,
  type DueMail,
  deleteMail,
  findApplicationWithDueMail,
  hasDueMail,
  listDueMails,
  type OutboxRow,
  postponeMail,
} from "./outbox.store.ts";
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

export type MailOutcome = "sent" | "failed" | "dead" | "expired";

const mailsAtOncePerApplicationMax = 4;
/** Mails of one application in memory; the others are found when there is room. */
const queuedPerApplicationMax = 100;
const applicationsPerRoundMax = 500;
const claimMs = 60_000;
const leaseMs = 6_000;
const retryMs = [10_000, 60_000, 300_000, 900_000, 1_800_000] as const;
const retryJitter = 0.2;

interface Lane {
  readonly queue: Map<string, { readonly mail: DueMail; readonly end: () => void }>;
  sending: number;
}

interface Outgoing {
  readonly smtpUrl: string | undefined;
  /** True when the application has a mail server whose URL cannot be decrypted. */
  readonly isLocked: boolean;
  readonly isPublicOnly: boolean;
  readonly from: Sender;
}

export function createDelivery(
  config: Pick<Config, "smtpUrl" | "mailFrom">,
  services: {
    readonly database: Database;
    readonly background: Background;
    readonly mailer: Mailer;
    readonly settingsSealer: SettingsSealer;
    readonly secrets: readonly string[];
    readonly clock: Clock;
    readonly log: Log;
  },
): Delivery {
  const { database, background, mailer, settingsSealer, secrets, clock, log } = services;
  const sealer = createOutboxSealer(secrets);
  const servers = createMailServers(clock);
  const lanes = new Map<string, Lane>();
  const lease = { name: "mail", holder: randomUUID() };
  const outcomes: Record<MailOutcome, number> = { sent: 0, failed: 0, dead: 0, expired: 0 };
  let cursor = "";

  function laneOf(applicationId: string): Lane {
    const lane = lanes.get(applicationId) ?? { queue: new Map(), sending: 0 };
    lanes.set(applicationId, lane);
    return lane;
  }

  function send(applicationId: string, mail: DueMail): Promise<void> {
    const lane = laneOf(applicationId);
    if (lane.queue.has(mail.id) || lane.queue.size >= queuedPerApplicationMax) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    lane.queue.set(mail.id, { mail, end: resolve });
    pump(applicationId, lane);
    return promise;
  }

  function pump(applicationId: string, lane: Lane): void {
    while (lane.sending < mailsAtOncePerApplicationMax) {
      const [next] = lane.queue.values();
      if (next === undefined) break;
      const { mail, end } = next;
      lane.queue.delete(mail.id);
      lane.sending += 1;
      sendOne(applicationId, mail, lane)
        .catch((err) =>
          log.warn(
            { err, application: applicationId },
            "a mail could not be delivered; it stays in the outbox and is tried again",
          ),
        )
        .finally(() => {
          lane.sending -= 1;
          pump(applicationId, lane);
          end();
        });
    }
    if (lane.sending === 0 && lane.queue.size === 0) lanes.delete(applicationId);
  }

  async function sendOne(applicationId: string, due: DueMail, lane: Lane): Promise<void> {
    const outgoing = await findOutgoing(applicationId);
    const release = await servers.acquire(outgoing.smtpUrl);
    try {
      if (servers.isBackingOff(outgoing.smtpUrl)) {
        for (const { end } of lane.queue.values()) end();
        lane.queue.clear();
        return;
      }
      const claimed = await database.write(({ queries }) =>
        claimMail(applicationId, due, clock.now() + claimMs, queries),
      );
      if (claimed !== undefined) outcomes[await deliver(claimed, outgoing)] += 1;
    } finally {
      release();
    }
  }

  async function findOutgoing(applicationId: string): Promise<Outgoing> {
    const mail = await loadMailSettings(applicationId, settingsSealer, database.reads);
    const { from, smtpUrl, isLocked, isPublicOnly } = mail;
    return {
      isLocked,
      isPublicOnly: smtpUrl !== undefined && isPublicOnly,
      smtpUrl: smtpUrl ?? config.smtpUrl,
      from: (from === undefined ? undefined : parseSender(from)) ?? config.mailFrom,
    };
  }

  /** Sends a mail that this process has claimed. */
  async function deliver(row: OutboxRow, outgoing: Outgoing): Promise<MailOutcome> {
    const { smtpUrl, isLocked, isPublicOnly, from } = outgoing;
    const { application_id: applicationId, id, user_id: userId, expires_at: expiresAt } = row;
    const drop = () => database.write(({ queries }) => deleteMail(applicationId, id, queries));
    if (expiresAt <= clock.now()) {
      await drop();
      return "expired";
    }
    const content = sealer.open(applicationId, id, row.sealed);
    if (content === undefined) {
      await drop();
      log.warn({ application: applicationId, user: userId }, "a mail was dropped: it is sealed under another secret");
      return "dead";
    }
    try {
      if (isLocked) throw new MailFailure({ name: "mail.smtpUrl is sealed under another secret, set it again" });
      await mailer.send({ ...content, from }, smtpUrl, isPublicOnly);
    } catch (error) {
      if (!(error instanceof MailFailure)) throw error;
      if (error.isOfServer && !isLocked) servers.noteFailure(smtpUrl);
      const what = { application: applicationId, user: userId, smtp_code: error.smtpCode, reason: error.message };
      const againAt = clock.now() + retryDelay(row.attempts);
      if (error.isDead || againAt >= expiresAt) {
        await drop();
        log.warn(what, error.isDead ? "a mail was refused permanently" : "a mail was dropped: it has expired");
        return error.isDead ? "dead" : "expired";
      }
      await database.write(({ queries }) => postponeMail(applicationId, id, againAt, queries));
      log.warn(what, "a mail was not sent; it is tried again");
      return "failed";
    }
    servers.noteSuccess(smtpUrl);
    await drop();
    return "sent";
  }

  return {
    send,

    async addDue() {
      const now = clock.now();
      // Writes nothing while no mail is due, because every commit makes other processes check their tokens again.
      if (!(await hasDueMail(now, database.reads))) return;
      if (!(await database.write(({ queries }) => takeLease(lease, now, now + leaseMs, queries)))) return;
      for (let count = 0; count < applicationsPerRoundMax; count += 1) {
        const found = await findApplicationWithDueMail(cursor, now, database.reads);
        cursor = found ?? "";
        if (found === undefined) return;
        const room = queuedPerApplicationMax - (lanes.get(found)?.queue.size ?? 0);
        for (const mail of await listDueMails(found, now, room, database.reads)) {
          background.run("sendMail", () => send(found, mail));
        }
      }
    },

    statistics() {
      let sending = 0;
      for (const lane of lanes.values()) sending += lane.sending;
      return { outcomes, sending };
    },
  };
}

function retryDelay(attempts: number): number {
  const base = retryMs[Math.min(attempts, retryMs.length) - 1] ?? retryMs[0];
  return Math.round(base * (1 - retryJitter + 2 * retryJitter * Math.random()));
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
