import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSigner } from "../lib/signer.ts";
import { createTokenBuckets, type TokenBuckets } from "../lib/token-buckets.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { lendTokens } from "./shared-buckets.store.ts";
import { SharedBucket, type TokenLedger } from "./shared-buckets.ts";

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
