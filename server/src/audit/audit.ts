import type { Database, Queries, Transaction } from "../db/database.ts";
import type { AuditRow } from "../db/tables.ts";
import type { Jobs } from "../jobs/job.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { createTokenBuckets } from "../limits/token-buckets.ts";
import { type AuditEvent, newAuditRow } from "./audit.events.ts";
import { insertAuditRows, saveNotedRows } from "./audit.store.ts";
import { createRefusalFolds, isFoldable, repeated } from "./refusal-folds.ts";

/** Events that are written within about a second, outside of the caller's transaction. */
interface AuditQueue {
  /** Drops the event when too many wait, and counts it. */
  put(event: AuditEvent): void;
  readonly waitingCount: number;
  /** When an event was last dropped. */
  readonly lostAt: number | undefined;
  /** Writes all waiting events. */
  save(): Promise<void>;
  /** Writes all waiting events, and stops. */
  close(): Promise<void>;
}

interface AuditServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly jobs: Pick<Jobs, "start">;
}

const writeEveryMs = 1_000;
const rowsPerWrite = 200;
const waitingMax = 5_000;

function createAuditQueue({ database, clock, ids, jobs }: AuditServices): AuditQueue {
  const folds = createRefusalFolds({ ids });
  /** Rows that are not in the database, oldest first. */
  const waiting = new Set<AuditRow>();
  /** Rows that are stored with a lower count; they are written after the new ones, so that they displace none. */
  const grown = new Set<AuditRow>();
  let lost = 0;
  let lostAt: number | undefined;
  const runExclusively = createMutex(); // so that no row is written twice
  const job = jobs.start({
    name: "audit log",
    everyMs: writeEveryMs,
    failure: "the audit log was not written; the write will be retried",
    isDue: isSomethingLeft,
    run: () => runExclusively(writeSome),
  });

  function put(event: AuditEvent): void {
    const isFull = waiting.size >= waitingMax;
    if (!isFoldable(event)) {
      if (isFull) lose();
      else waiting.add(newAuditRow(event, clock.now(), ids));
      return;
    }
    const { row, isNew } = folds.add(event, clock.now());
    if (isNew && isFull) {
      lose();
      row.count = 0; // counts equal refusals from here on
    } else if (isNew) {
      waiting.add(row);
    } else if (!waiting.has(row)) {
      grown.add(row);
    }
  }

  function lose(): void {
    lost += 1;
    lostAt = clock.now();
  }

  function isSomethingLeft(): boolean {
    return waiting.size > 0 || grown.size > 0 || lost > 0;
  }

  /** One bounded write; rows that could not be written stay in the queue. */
  async function writeSome(): Promise<void> {
    const rows = [...firstOf(waiting, rowsPerWrite)];
    rows.push(...firstOf(grown, rowsPerWrite - rows.length));
    const written = rows.map((row) => ({ ...row })); // the originals may change during the write
    const count = lost;
    if (count > 0) {
      const event = { actor: { kind: "system" }, action: "loseAuditEvents", details: { count } } as const;
      written.push(newAuditRow(event, clock.now(), ids));
    }
    if (written.length === 0) return;
    await database.write(({ queries }) => saveNotedRows(written, queries));
    for (const [index, row] of rows.entries()) {
      waiting.delete(row);
      grown.delete(row);
      if (row.count !== written[index]?.count) grown.add(row);
    }
    lost -= count;
  }

  /** Bounded: events that arrive during this call trigger another write. */
  async function writeAll(): Promise<void> {
    const writes = Math.ceil((waiting.size + grown.size) / rowsPerWrite) + 1;
    for (let count = 0; count < writes && isSomethingLeft(); count += 1) await writeSome();
  }

  return {
    put,

    get waitingCount() {
      return waiting.size + grown.size;
    },
    get lostAt() {
      return lostAt;
    },

    save: () => runExclusively(writeAll),

    async close() {
      await job.stop();
      await runExclusively(writeAll);
    },
  };
}

/** Returns a function that runs work after all earlier work, even if that failed. */
function createMutex(): (work: () => Promise<void>) => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  return (work) => {
    const done = running.then(work);
    running = done.catch(() => {});
    return done;
  };
}

function* firstOf<T>(all: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const each of all) {
    if (left-- <= 0) return;
    yield each;
  }
}

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
   * Records events outside of the caller's transaction, mostly refusals, within about a second; they survive the
   * rollback of that transaction. Callers do not wait for the write. Equal refusals share a row; in a flood of
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

/** More than a person does, and few enough to store for a year. */
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
    note: (event) =>
      database.outsideTransaction(`note ${event.action}`, async () => queue.put(event), { hasEffect: true }),

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
