import type { Queries, Transaction } from "../db/database.ts";
import { createTokenBuckets } from "../lib/token-buckets.ts";
import { type AuditEvent, newAuditRow } from "./audit.events.ts";
import { type AuditServices, createAuditQueue } from "./audit.queue.ts";
import { insertAuditRows } from "./audit.store.ts";
import { repeated } from "./refusal-folds.ts";

/** The audit log. */
export interface Audit {
  /** Records a change in the same transaction: either both are committed, or neither. */
  record(event: AuditEvent, queries: Queries): Promise<void>;
  /**
   * Records actions that clients can repeat without limit: after twenty actions of one actor, then one every three
   * minutes, further ones share a row with a count. That row is written within about a second after the commit.
   */
  recordRepeatable(event: AuditEvent, transaction: Pick<Transaction, "queries" | "afterCommit">): Promise<void>;
  /**
   * Records events without a transaction of their own, mostly refusals, within about a second; they survive the
   * rollback of a surrounding transaction. Callers do not wait for the write. Equal refusals share a row; in a flood of
   * different events some are dropped, and counted.
   */
  note(event: AuditEvent): Promise<void>;
  /** The number of events that wait to be written. */
  readonly waitingCount: number;
  /** When an event was last dropped. */
  readonly lostAt: number | undefined;
  /** Writes all waiting events. */
  save(): Promise<void>;
  /** Writes all waiting events, and stops. */
  close(): Promise<void>;
}

/** More than a person does, and few enough to be kept for a year. */
const recordedPerActor = { perSecond: 20 / 3_600, burst: 20 };
const actorsMax = 100_000;

export function createAudit(services: AuditServices): Audit {
  const { database, clock, ids } = services;
  const recorded = createTokenBuckets(actorsMax);
  const queue = createAuditQueue(services);

  return {
    record: (event, queries) => insertAuditRows([newAuditRow(event, clock.now(), ids)], queries),

    async recordRepeatable(event, { queries, afterCommit }) {
      const now = clock.now();
      const { actor, applicationId, action } = event;
      const bucket = recorded.find(`${applicationId} ${actor.id} ${action}`, recordedPerActor, now);
      if (bucket.waitMs(now) > 0) {
        afterCommit(() => queue.put(asRepeat(event)));
        return;
      }
      bucket.take(now); // before the commit, because all items of a batch are in one transaction
      await insertAuditRows([newAuditRow(event, now, ids)], queries);
    },

    // The key omits the target: a user that the same batch creates has another id in each run.
    note: (event) => database.apart(`note ${event.action}`, async () => queue.put(event), { hasEffect: true }),

    get waitingCount() {
      return queue.waitingCount;
    },
    get lostAt() {
      return queue.lostAt;
    },

    save: queue.save,
    close: queue.close,
  };
}

/** The key that repetitions of an action share; their targets may differ. */
function asRepeat({ target: _, ...event }: AuditEvent): AuditEvent {
  return { ...event, details: { ...event.details, ...repeated } };
}
