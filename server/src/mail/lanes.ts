import type { Log } from "../config/log.ts";
import { KeyedSemaphore } from "../limits/keyed-semaphore.ts";
import type { DueMail } from "./outbox.store.ts";

const mailsAtOncePerApplicationMax = 4;
/** The number of mails of one application that wait in memory; the others are found when space is free. */
const waitingPerApplicationMax = 100;

/** The mails in the memory of this process: bounded for each application, with a limit of concurrent mails. */
export class MailLanes {
  readonly #sendOne: (applicationId: string, mail: DueMail) => Promise<void>;
  readonly #log: Log;
  readonly #slots = new KeyedSemaphore(mailsAtOncePerApplicationMax);
  /** The ids of waiting mails, by application. */
  readonly #waiting = new Map<string, Set<string>>();

  constructor(sendOne: (applicationId: string, mail: DueMail) => Promise<void>, log: Log) {
    this.#sendOne = sendOne;
    this.#log = log;
  }

  /** Resolves after the attempt, or without one when too many mails wait or they are cleared. */
  async add(applicationId: string, mail: DueMail): Promise<void> {
    const waiting = this.#waiting.getOrInsertComputed(applicationId, () => new Set());
    if (waiting.has(mail.id) || waiting.size >= waitingPerApplicationMax) return;
    waiting.add(mail.id);
    const release = await this.#slots.acquire(applicationId);
    try {
      if (waiting.delete(mail.id)) await this.#sendOne(applicationId, mail);
    } catch (err) {
      this.#log.warn(
        { err, application: applicationId },
        "a mail could not be delivered; it stays in the outbox and is tried again",
      );
    } finally {
      release();
      if (this.#slots.countOf(applicationId) === 0) this.#waiting.delete(applicationId);
    }
  }

  /** Removes the waiting mails of an application from memory; their rows stay. */
  clear(applicationId: string): void {
    this.#waiting.get(applicationId)?.clear();
  }

  roomOf(applicationId: string): number {
    return waitingPerApplicationMax - (this.#waiting.get(applicationId)?.size ?? 0);
  }

  get sendingCount(): number {
    return this.#slots.usedCount;
  }
}
