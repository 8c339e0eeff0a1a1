import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import type { AuditRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { type AuditEvent, newAuditRow } from "./audit.events.ts";
import { saveNotedRows } from "./audit.store.ts";
import { createRefusalFolds, isFoldable } from "./refusal-folds.ts";

/** Events that are written within about a second, without a transaction of their own. */
export interface AuditQueue {
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

export interface AuditServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly log: Logger;
}

const writeEveryMs = 1_000;
const rowsPerWrite = 200;
const waitingMax = 5_000;

export function createAuditQueue({ database, clock, ids, log }: AuditServices): AuditQueue {
  const folds = createRefusalFolds({ ids });
  /** Rows that are not in the database, oldest first. */
  const waiting = new Set<AuditRow>();
  /** Rows that are stored with a lower count; they are written after the new ones, so that they displace none. */
  const grown = new Set<AuditRow>();
  let lost = 0;
  let lostAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isClosed = false;

  function put(event: AuditEvent): void {
    writeSoon();
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

  function writeSoon(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(async () => {
      await inTurn(writeSome).catch((err) =>
        log.warn({ err }, "the audit log was not written; the write will be retried"),
      );
      timer = undefined;
      if (isSomethingLeft()) writeSoon();
    }, writeEveryMs);
    timer.unref();
  }

  /** Serializes writes, so that no row is written twice. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = writing.then(work);
    writing = done.catch(() => {});
    return done;
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

  /** Bounded: events that arrive in the meantime trigger a write of their own. */
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

    save: () => inTurn(writeAll),

    async close() {
      isClosed = true;
      clearTimeout(timer);
      await inTurn(writeAll);
    },
  };
}

function* firstOf<T>(all: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const each of all) {
    if (left-- <= 0) return;
    yield each;
  }
}
