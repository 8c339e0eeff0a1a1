import { AsyncLocalStorage } from "node:async_hooks";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { runInCall } from "../lib/current-call.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import { createTokenBuckets, type TokenBuckets } from "../lib/token-buckets.ts";
import { lendTokens } from "./shared-buckets.store.ts";
import { SharedBucket, type TokenLedger } from "./shared-buckets.ts";

/** Keeps shared counters in the database. While it does not answer in time, each process counts for itself. */
interface Ledger {
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

interface LedgerOptions {
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

/** The counters of limits: shared by all processes on PostgreSQL, in the memory of each process on SQLite. */
export interface LimitCounters {
  /**
   * The processes among which this one has to take its share of a limit, because their counters are not shared.
   */
  readonly processes: number;
  /**
   * Creates buckets in memory.
   *
   * @param kind distinguishes equal keys of different limits
   */
  createBuckets(kind: string, bucketsMax: number): TokenBuckets;
  /** Undefined where processes do not share their counters. */
  readonly shared: SharedCounters | undefined;
  /** How many times the counters could not be shared because the database did not answer in time. */
  readonly outages: number;
}

/** Counters that are read and changed in the database each time. */
export interface SharedCounters extends Pick<Ledger, "runPatiently"> {
  /** The digest under which a counter is stored. */
  keyOf(name: string): string;
}

interface CounterServices {
  readonly database: Database;
  readonly secrets: Secrets;
  readonly log: Log;
}

/** @param processes see {@link LimitCounters} */
export function createLocalCounters(processes: number): LimitCounters {
  return {
    processes,
    createBuckets: (_kind, bucketsMax) => createTokenBuckets(bucketsMax),
    shared: undefined,
    outages: 0,
  };
}

/** The part of the longest wait for the database that a call may wait for its counters. */
const overdueShare = 1 / 5;

export function createLimitCounters(
  { workers, databaseTimeoutMs }: Pick<Config, "workers" | "databaseTimeoutMs">,
  { database, secrets, log }: CounterServices,
): LimitCounters {
  // Without row locks every counter would wait for all other writes.
  if (!database.dialect.hasRowLocks) return createLocalCounters(workers);
  const ledger = createLedger({ database, log }, { overdueMs: databaseTimeoutMs * overdueShare });
  const { sign } = createSigner(secrets, "limits");
  const tokens: TokenLedger = {
    get isAway() {
      return ledger.isAway;
    },
    shareAlone: 1 / workers,
    shouldProbe: ledger.shouldProbe,
    exchange: ({ applicationId, name }, loan, onOverdue) =>
      ledger.run(({ queries }) => lendTokens(applicationId, sign(name), loan, queries), onOverdue),
  };

  const shared: SharedCounters = {
    runPatiently: ledger.runPatiently,
    keyOf: sign,
  };

  return {
    processes: 1,
    shared,
    createBuckets: (kind, bucketsMax) =>
      createTokenBuckets(
        bucketsMax,
        (key, limit, now, applicationId) =>
          new SharedBucket({ applicationId, name: `${kind} ${key}` }, limit, now, tokens),
      ),
    get outages() {
      return ledger.outages;
    },
  };
}
