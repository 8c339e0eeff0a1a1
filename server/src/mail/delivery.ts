import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { parseSender } from "../config/mail-sender.ts";
import type { Database } from "../db/database.ts";
import type { Background } from "../jobs/background.ts";
import type { Jobs, RunningJob } from "../jobs/job.ts";
import type { Clock } from "../lib/clock.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { KeyedSemaphore } from "../limits/keyed-semaphore.ts";
import { loadMailSettings, type SettingsSealer } from "../tenancy/sealed-settings.ts";
import { MailLanes } from "./lanes.ts";
import { type Mailer, MailFailure, type Sender } from "./mailer.ts";
import {
  claimMail,
  createOutboxSealer,
  type DueMail,
  deleteMail,
  findApplicationWithDueMail,
  hasDueMail,
  listDueMails,
  type OutboxRow,
  type OutboxSealer,
  postponeMail,
} from "./outbox.store.ts";

/** The SMTP servers in use: limits the concurrent mails of each, and backs off from failing ones. */
interface MailServers {
  /** Waits for a slot of the server. @returns the function that releases the slot */
  acquire(smtpUrl: string | undefined): Promise<() => void>;
  /** True while a server is backing off after several failures in a row. */
  isBackingOff(smtpUrl: string | undefined): boolean;
  noteSuccess(smtpUrl: string | undefined): void;
  noteFailure(smtpUrl: string | undefined): void;
}

const mailsAtOnceMax = 16;
const failuresMax = 5;
const backoffMsFirst = 10_000;
const backoffMsMax = 300_000;
const serversMax = 10_000;

interface Failures {
  inARow: number;
  backoffMs: number;
  backsOffUntil: number;
}

function createMailServers(clock: Clock): MailServers {
  /** By host and port, because applications may share a server. */
  const slots = new KeyedSemaphore(mailsAtOnceMax);
  /** By the complete URL, so that one application's wrong credentials do not affect another one. */
  const failures = new LruMap<string, Failures>(serversMax);

  return {
    acquire: (smtpUrl) => slots.acquire(hostOf(smtpUrl)),
    isBackingOff: (smtpUrl) => (failures.get(smtpUrl ?? "")?.backsOffUntil ?? 0) > clock.now(),
    noteSuccess: (smtpUrl) => void failures.delete(smtpUrl ?? ""),
    noteFailure(smtpUrl) {
      const found = failures.get(smtpUrl ?? "") ?? { inARow: 0, backoffMs: backoffMsFirst / 2, backsOffUntil: 0 };
      const now = clock.now();
      // Attempts that began before the backoff do not extend it.
      if (found.backsOffUntil > now) return;
      found.inARow += 1;
      if (found.inARow >= failuresMax) {
        found.backoffMs = Math.min(found.backoffMs * 2, backoffMsMax);
        found.backsOffUntil = now + found.backoffMs;
      }
      failures.set(smtpUrl ?? "", found);
    },
  };
}

function hostOf(smtpUrl: string | undefined): string {
  if (smtpUrl === undefined) return "";
  const { protocol, hostname, port } = new URL(smtpUrl);
  return `${hostname.toLowerCase()}:${port || (protocol === "smtps:" ? "465" : "587")}`;
}

type MailOutcome = "sent" | "failed" | "dead" | "expired";

/** The mail server and the sender of an application. */
interface Outgoing {
  readonly smtpUrl: string | undefined;
  /** True when the application has a mail server whose URL cannot be decrypted. */
  readonly isLocked: boolean;
  readonly isPublicOnly: boolean;
  readonly from: Sender;
}

interface Services {
  readonly database: Database;
  readonly mailer: Mailer;
  readonly servers: MailServers;
  readonly sealer: OutboxSealer;
  readonly clock: Clock;
  readonly log: Log;
}

const retryMs = [10_000, 60_000, 300_000, 900_000, 1_800_000] as const;
const retryJitter = 0.2;

/** Sends a mail that this process has claimed, and deletes its row unless the mail is retried. */
async function attemptMail(row: OutboxRow, outgoing: Outgoing, services: Services): Promise<MailOutcome> {
  const { database, mailer, servers, sealer, clock, log } = services;
  const { smtpUrl, isLocked, isPublicOnly, from } = outgoing;
  const { application_id: applicationId, id, user_id: userId } = row;
  const drop = () => database.write(({ queries }) => deleteMail(applicationId, id, queries));
  if (row.expires_at <= clock.now()) {
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
    if (error.isDead || againAt >= row.expires_at) {
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

function retryDelay(attempts: number): number {
  const base = retryMs[Math.min(attempts, retryMs.length) - 1] ?? retryMs[0];
  return Math.round(base * (1 - retryJitter + 2 * retryJitter * Math.random()));
}

/** Sends the mails of the outbox, with a limit of concurrent mails per application and per server. */
export interface Delivery {
  /**
   * Sends a mail as soon as its application and its server have a free slot. Resolves after the attempt, or without one
   * when memory is full or the server is backing off: the row stays for a later search.
   */
  send(applicationId: string, mail: DueMail): Promise<void>;
  /** Searches the database for due mails. */
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

/** The delivery settings of an application; the deployment's are the default. */
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

/** Searches for due mails in one process at a time, immediately and then every five seconds. */
export function startDelivery(
  {
    delivery,
    jobs,
    database,
    clock,
  }: { readonly delivery: Delivery; readonly jobs: Jobs; readonly database: Database; readonly clock: Clock },
  everyMs = lookEveryMs,
): RunningJob {
  return jobs.start({
    name: "mails",
    everyMs,
    isImmediate: true,
    failure: "the search for due mails failed; it is tried again",
    lease: { forMs: leaseMs },
    // Writes nothing while no mail is due, because every commit makes other processes check their tokens again.
    isDue: () => hasDueMail(clock.now(), database.reads),
    run: delivery.addDue,
  });
}
