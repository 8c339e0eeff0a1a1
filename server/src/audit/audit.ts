import type { Logger } from "pino";
import type { Database, Queries } from "../db/database.ts";
import type { AuditRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { type AuditEvent, newAuditRow } from "./audit.events.ts";
import { insertAuditRows } from "./audit.store.ts";

/** The trail of who did what. */
export interface Audit {
  /** Writes down what is done by the same transaction: either both are there, or neither. */
  record(event: AuditEvent, queries: Queries): Promise<void>;
  /**
   * Writes down, within about a second, what left nothing else behind: what was refused, as a rule. It stays whatever
   * becomes of a transaction around it. Nobody waits for the write. Of a flood of events some are lost, and counted.
   */
  note(event: AuditEvent): Promise<void>;
  /** How many events wait to be written. */
  readonly waitingCount: number;
  /** Writes down all that has been noted. */
  save(): Promise<void>;
  /** The same, for the last time. */
  close(): Promise<void>;
}

const writeEveryMs = 1_000;
const rowsPerWrite = 200;
const waitingMax = 5_000;

export function createAudit({
  database,
  clock,
  ids,
  log,
}: {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly log: Logger;
}): Audit {
  /** Oldest first. */
  const waiting: AuditRow[] = [];
  let lost = 0;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isClosed = false;

  function put(event: AuditEvent): void {
    if (waiting.length >= waitingMax) lost += 1;
    else waiting.push(newAuditRow(event, clock.now(), ids));
    writeSoon();
  }

  function writeSoon(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(async () => {
      await inTurn(writeSome).catch((err) => log.warn({ err }, "the audit log was not written, it is tried again"));
      timer = undefined;
      if (waiting.length > 0 || lost > 0) writeSoon();
    }, writeEveryMs);
    timer.unref();
  }

  /** One write at a time, so that none is written twice. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = writing.then(work);
    writing = done.catch(() => {});
    return done;
  }

  /** One bounded write; what could not be written goes on waiting. */
  async function writeSome(): Promise<void> {
    const rows = waiting.slice(0, rowsPerWrite);
    const count = lost;
    if (count > 0) {
      const event = { actor: { kind: "system" }, action: "loseAuditEvents", details: { count } } as const;
      rows.push(newAuditRow(event, clock.now(), ids));
    }
    if (rows.length === 0) return;
    await database.write(({ queries }) => insertAuditRows(rows, queries));
    waiting.splice(0, Math.min(rowsPerWrite, waiting.length));
    lost -= count;
  }

  async function writeAll(): Promise<void> {
    const writes = Math.ceil(waiting.length / rowsPerWrite) + 1; // bounded: what comes meanwhile has its own turn
    for (let count = 0; count < writes && (waiting.length > 0 || lost > 0); count += 1) await writeSome();
  }

  return {
    record: (event, queries) => insertAuditRows([newAuditRow(event, clock.now(), ids)], queries),

    note: (event) =>
      database.apart(`note ${event.action} ${event.target}`, async () => put(event), { hasEffect: true }),

    get waitingCount() {
      return waiting.length;
    },

    save: () => inTurn(writeAll),

    async close() {
      isClosed = true;
      clearTimeout(timer);
      await inTurn(writeAll);
    },
  };
}
