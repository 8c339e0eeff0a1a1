import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";
import type { MailServers } from "./mail-servers.ts";
import { type Mailer, MailFailure, type Sender } from "./mailer.ts";
import { deleteMail, type OutboxRow, postponeMail } from "./outbox.store.ts";
import type { OutboxSealer } from "./outbox-seal.ts";

export type MailOutcome = "sent" | "failed" | "dead" | "expired";

/** The mail server and the sender of an application. */
export interface Outgoing {
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

/** Sends a mail that this process has claimed, and deletes its row unless the mail is tried again. */
export async function attemptMail(row: OutboxRow, outgoing: Outgoing, services: Services): Promise<MailOutcome> {
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
