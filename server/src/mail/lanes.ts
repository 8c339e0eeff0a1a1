import type { Log } from "../config/log.ts";
import type { DueMail } from "./outbox.store.ts";

const mailsAtOncePerApplicationMax = 4;
/** The number of mails of one application in memory; the others are found when space is free. */
const queuedPerApplicationMax = 100;

interface Lane {
  readonly queue: Map<string, { readonly mail: DueMail; readonly end: () => void }>;
  sending: number;
}

/** The mails in the memory of this process: a queue for each application, with a limit of concurrent mails. */
export class MailLanes {
  readonly #sendOne: (applicationId: string, mail: DueMail) => Promise<void>;
  readonly #log: Log;
  readonly #lanes = new Map<string, Lane>();

  constructor(sendOne: (applicationId: string, mail: DueMail) => Promise<void>, log: Log) {
    this.#sendOne = sendOne;
    this.#log = log;
  }

  /** Resolves after the attempt, or without one when the queue is full or is cleared. */
  add(applicationId: string, mail: DueMail): Promise<void> {
    const lane = this.#lanes.getOrInsertComputed(applicationId, () => ({ queue: new Map(), sending: 0 }));
    if (lane.queue.has(mail.id) || lane.queue.size >= queuedPerApplicationMax) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    lane.queue.set(mail.id, { mail, end: resolve });
    this.#pump(applicationId, lane);
    return promise;
  }

  /** Removes the waiting mails of an application from memory; their rows stay. */
  clear(applicationId: string): void {
    const lane = this.#lanes.get(applicationId);
    if (lane === undefined) return;
    for (const { end } of lane.queue.values()) end();
    lane.queue.clear();
  }

  roomOf(applicationId: string): number {
    return queuedPerApplicationMax - (this.#lanes.get(applicationId)?.queue.size ?? 0);
  }

  get sendingCount(): number {
    let sending = 0;
    for (const lane of this.#lanes.values()) sending += lane.sending;
    return sending;
  }

  #pump(applicationId: string, lane: Lane): void {
    while (lane.sending < mailsAtOncePerApplicationMax) {
      const [next] = lane.queue.values();
      if (next === undefined) break;
      const { mail, end } = next;
      lane.queue.delete(mail.id);
      lane.sending += 1;
      this.#sendOne(applicationId, mail)
        .catch((err) =>
          this.#log.warn(
            { err, application: applicationId },
            "a mail could not be delivered; it stays in the outbox and is tried again",
          ),
        )
        .finally(() => {
          lane.sending -= 1;
          this.#pump(applicationId, lane);
          end();
        });
    }
    if (lane.sending === 0 && lane.queue.size === 0) this.#lanes.delete(applicationId);
  }
}
