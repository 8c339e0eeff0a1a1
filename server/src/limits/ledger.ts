import { AsyncLocalStorage } from "node:async_hooks";
import type { Database, Transaction } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { runInCall } from "../lib/current-call.ts";

/** Keeps shared counters in the database. While it does not answer in time, each process counts for itself. */
export interface Ledger {
  readonly isAway: boolean;
  /** True at most once a second while the ledger is unavailable: the caller tries whether it is available again. */
  shouldProbe(): boolean;
  /**
   * Runs work in a transaction of its own, outside of that of the call.
   *
   * @param onOverdue is called when the result takes so long that callers should no longer wait for it
   * @returns undefined when it failed
   */
  run<T>(work: (transaction: Transaction) => Promise<T>, onOverdue: () => void): Promise<T | undefined>;
  /**
   * The same for callers that wait for the database in any case.
   *
   * @returns undefined when it failed
   */
  runPatiently<T>(work: (transaction: Transaction) => Promise<T>): Promise<T | undefined>;
  /** How many times the ledger has become unavailable. */
  readonly outages: number;
}

interface LedgerServices {
  readonly database: Pick<Database, "write">;
  readonly log: {
    warn(details: object, line: string): void;
    info(line: string): void;
  };
}

export interface LedgerOptions {
  /** The time for which a call waits for the database. */
  readonly overdueMs: number;
}

const probeEveryMs = 1_000;

export function createLedger({ database, log }: LedgerServices, { overdueMs }: LedgerOptions): Ledger {
  const outsideOfCalls = AsyncLocalStorage.snapshot();
  let isAway = false;
  let outages = 0;
  let probeAt = 0;

  function write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return outsideOfCalls(() => runInCall({ work: "limits" }, () => database.write(work)));
  }

  function leave(err?: unknown): void {
    probeAt = performance.now() + probeEveryMs;
    if (isAway) return;
    isAway = true;
    outages += 1;
    log.warn({ err }, "the database does not answer in time: limits are counted by each process for itself");
  }

  function comeBack(): void {
    if (!isAway) return;
    isAway = false;
    log.info("limits are counted by all processes together again");
  }

  return {
    get isAway() {
      return isAway;
    },
    get outages() {
      return outages;
    },
    shouldProbe() {
      const now = performance.now();
      if (!isAway || now < probeAt) return false;
      probeAt = now + probeEveryMs;
      return true;
    },
    async run(work, onOverdue) {
      let isOverdue = false;
      const timer = setTimeout(() => {
        isOverdue = true;
        leave();
        onOverdue();
      }, overdueMs);
      timer.unref();
      try {
        const result = await write(work);
        if (!isOverdue) comeBack();
        return result;
      } catch (err) {
        if (!isForeignKeyViolation(err)) leave(err); // the application of the counter has just been deleted
        return undefined;
      } finally {
        clearTimeout(timer);
      }
    },
    runPatiently: (work) => write(work).catch(() => undefined),
  };
}
