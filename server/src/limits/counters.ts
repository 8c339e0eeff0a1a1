import { AsyncLocalStorage } from "node:async_hooks";
import { sql } from "kysely";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database, Transaction } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { deleteEnded } from "../db/steps.ts";
import { runInCall } from "../lib/current-call.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import { lendTokens, SharedBucket, type TokenLedger } from "./shared-buckets.ts";
import { createTokenBuckets, type TokenBuckets } from "./token-buckets.ts";

/**
 * Stores shared counters in the database. While the database does not answer in time, each process counts separately.
 */
interface Ledger {
  readonly isUnavailable: boolean;
  /** Returns true at most once a second while the database is unavailable; then the caller should probe it. */
  shouldProbe(): boolean;
  /**
   * Runs work in a separate transaction, outside of the transaction of the call.
   *
   * @param onOverdue called when the result is so late that callers should no longer wait for it
   * @returns undefined if it failed
   */
  run<T>(work: (transaction: Transaction) => Promise<T>, onOverdue: () => void): Promise<T | undefined>;
  /**
   * Runs work as `run` does, for callers that wait for the database in any case.
   *
   * @returns undefined if it failed
   */
  runPatiently<T>(work: (transaction: Transaction) => Promise<T>): Promise<T | undefined>;
  /** The number of times that the database has become unavailable. */
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
  let isUnavailable = false;
  let outages = 0;
  let probeAt = 0;

  function write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return outsideOfCalls(() => runInCall({ work: "limits" }, () => database.write(work)));
  }

  function markUnavailable(err?: unknown): void {
    probeAt = performance.now() + probeEveryMs;
    if (isUnavailable) return;
    isUnavailable = true;
    outages += 1;
    log.warn({ err }, "the database does not answer in time: limits are counted by each process for itself");
  }

  function markAvailable(): void {
    if (!isUnavailable) return;
    isUnavailable = false;
    log.info("limits are counted by all processes together again");
  }

  return {
    get isUnavailable() {
      return isUnavailable;
    },
    get outages() {
      return outages;
    },
    shouldProbe() {
      const now = performance.now();
      if (!isUnavailable || now < probeAt) return false;
      probeAt = now + probeEveryMs;
      return true;
    },
    async run(work, onOverdue) {
      let isOverdue = false;
      const timer = setTimeout(() => {
        isOverdue = true;
        markUnavailable();
        onOverdue();
      }, overdueMs);
      timer.unref();
      try {
        const result = await write(work);
        if (!isOverdue) markAvailable();
        return result;
      } catch (err) {
        if (!isForeignKeyViolation(err)) markUnavailable(err); // a violation: the application has been deleted
        return undefined;
      } finally {
        clearTimeout(timer);
      }
    },
    runPatiently: (work) => write(work).catch(() => undefined),
  };
}

/** The counters of limits: shared by all processes on PostgreSQL, and in the memory of each process on SQLite. */
export interface LimitCounters {
  /** The number of processes that divide a limit, because their counters are not shared; else 1. */
  readonly processes: number;
  /**
   * Creates buckets in memory.
   *
   * @param kind distinguishes equal keys of different limits
   */
  createBuckets(kind: string, bucketsMax: number): TokenBuckets;
  /** Undefined if processes do not share counters. */
  readonly shared: SharedCounters | undefined;
  /** The number of times that counters could not be shared, because the database did not answer in time. */
  readonly outages: number;
}

/** Counters without a copy in memory: each access is a statement. */
export interface SharedCounters extends Pick<Ledger, "runPatiently"> {
  /** Returns the digest under which a counter is stored. */
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

/** The fraction of the database time-out for which a call waits for its counters. */
const overdueShare = 1 / 5;

export function createLimitCounters(
  { workers, databaseTimeoutMs }: Pick<Config, "workers" | "databaseTimeoutMs">,
  { database, secrets, log }: CounterServices,
): LimitCounters {
  // Without row locks, a counter would wait for all other writes.
  if (!database.dialect.hasRowLocks) return createLocalCounters(workers);
  const ledger = createLedger({ database, log }, { overdueMs: databaseTimeoutMs * overdueShare });
  const { sign } = createSigner(secrets, "limits");
  const tokens: TokenLedger = {
    get isUnavailable() {
      return ledger.isUnavailable;
    },
    unsharedFraction: 1 / workers,
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

const tables = [
  "limit_buckets",
  "deployment_limit_buckets",
  "guess_counts",
  "deployment_guess_counts",
  "region_nonces",
] as const;

/** Deletes full buckets, expired failures, and nonces of calls that can no longer be replayed. */
export async function deleteExpiredCounters(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (const table of tables) await deleteEnded(table, sql`"ends_at" < ${now}`, database, signal);
}
