import { sql } from "kysely";
import type { Limit } from "../contract/policy.ts";
import type { Queries } from "../db/database.ts";
import { TokenBucket, tolerance } from "./token-buckets.ts";

/** The subject of a shared counter. */
interface CounterKey {
  /** Empty for counters of the deployment. */
  readonly applicationId: string;
  /** Stored as a keyed digest, so that the database contains no user names and addresses of clients. */
  readonly name: string;
}

/** The report of a process about a bucket, and its request for tokens. */
interface Loan {
  readonly limit: Limit;
  readonly now: number;
  /** The tokens that the process has handed out since the last loan; negative to return borrowed tokens. */
  readonly used: number;
  readonly wanted: number;
}

/** The state of a bucket after a loan. */
export interface Lent {
  /** The number of lent tokens: 0 if the bucket is empty; more than `wanted` while many are left. */
  readonly lent: number;
  /** The missing tokens, including the lent ones. */
  readonly missing: number;
  /** The time for which `missing` holds. */
  readonly at: number;
}

/** A time further ahead was written by a process with a wrong clock. */
const skewMsMax = 60_000;
/**
 * The fraction of the available tokens that one loan may have. It bounds the tokens that other processes lack, or that
 * are handed out late, to a few percent.
 */
const loanShare = 1 / 64;

/**
 * Lends the requested tokens, or more to save further loans: at most `loanShare`, and at most the refill of a second.
 */
export function lend(bucket: Pick<Lent, "missing" | "at">, { limit, now, used, wanted }: Loan): Lent {
  const at = bucket.at > now + skewMsMax ? now : bucket.at;
  const returned = (Math.max(0, now - at) * limit.perSecond) / 1_000;
  const missing = Math.max(0, Math.max(0, bucket.missing - returned) + used);
  const left = Math.max(0, limit.burst - missing + tolerance);
  const spare = Math.floor(Math.min(left * loanShare, limit.perSecond));
  const lent = left >= wanted ? Math.max(wanted, spare) : Math.floor(left);
  return { lent, missing: missing + lent, at: Math.max(at, now) };
}

/** Counts the tokens that the processes of a deployment hand out. */
export interface TokenLedger {
  /** True while the database does not answer, and each process counts separately. */
  readonly isUnavailable: boolean;
  /** The fraction of a limit that this process admits while the ledger is unavailable. */
  readonly unsharedFraction: number;
  /** Returns true at most once a second while the ledger is unavailable. */
  shouldProbe(): boolean;
  /**
   * Reports and borrows tokens.
   *
   * @param onOverdue called when callers should no longer wait for the result
   * @returns undefined if the ledger failed
   */
  exchange(key: CounterKey, loan: Loan, onOverdue: () => void): Promise<Lent | undefined>;
}

/** A process that has not used its borrowed tokens for this long returns them with its next loan. */
const idleMs = 1_000;
/** The pause after a failed loan. */
const separateMs = 1_000;
/** The interval between two loans of an empty bucket. */
const emptyMs = 20;

/**
 * A bucket whose tokens all processes share. Tokens are borrowed from the database in batches, and handed out from
 * memory. A process hands out a small fraction of the limit without a loan, so that callers far below their limit cost
 * no statement, and reports these tokens with its first loan.
 *
 * The inherited state is the latest state of the shared bucket, in which the tokens that this process has borrowed are
 * available.
 */
export class SharedBucket extends TokenBucket {
  readonly #key: CounterKey;
  readonly #ledger: TokenLedger;
  /** The tokens that this process hands out without a loan. */
  readonly #unborrowed: TokenBucket;
  /** The borrowed tokens: taken in the database, and not yet handed out. */
  #borrowed = 0;
  /** The tokens that this process has handed out and not yet reported; negative for tokens to return. */
  #unreported = 0;
  #usedAt = 0;
  #requestedAt = 0;
  /** The bucket is empty, and is not queried before this time. */
  #emptyUntil = 0;
  /** The last loan failed, and this process counts separately until this time. */
  #separateUntil = 0;
  #wanted = 0;
  #exchange: { readonly isDone: Promise<void>; isOverdue: boolean } | undefined;

  constructor(key: CounterKey, limit: Limit, now: number, ledger: TokenLedger) {
    super(limit, now);
    this.#key = key;
    this.#ledger = ledger;
    this.#unborrowed = new TokenBucket(limit, now);
  }

  override waitMs(now: number, count = 1): number {
    const waitMs = super.waitMs(now, count);
    if (this.#countsSeparately(now))
      return Math.max(waitMs, this.#allowance(this.#ledger.unsharedFraction).waitMs(now, count));
    if (now >= this.#emptyUntil || this.#holds(this.#required(count))) return waitMs;
    return Math.max(waitMs, this.#emptyUntil - now);
  }

  override take(now: number, count = 1): void {
    const borrowed = Math.min(this.#borrowed, count);
    const unborrowed = count - borrowed;
    this.#borrowed -= borrowed;
    if (unborrowed > tolerance) {
      this.#unreported = this.#toReport(now) + unborrowed;
      this.#unborrowed.take(now, unborrowed);
    }
    this.#usedAt = now;
    super.take(now, count);
  }

  override giveBack(): void {
    super.giveBack();
    if (this.#unreported > 0) this.#unreported -= 1;
    else this.#borrowed += 1;
  }

  override borrow(now: number, count = 1): Promise<void> | undefined {
    const needed = this.#required(count);
    if (this.#borrowed > 0 && now - this.#usedAt >= idleMs) this.#returnBorrowed();
    if (this.#holds(needed)) return undefined;
    const wanted = needed - this.#borrowed;
    if (this.#countsSeparately(now)) {
      if (this.#ledger.shouldProbe()) this.#requestLoan(wanted, now);
      return undefined;
    }
    if (wanted <= this.limit.burst * loanShare && this.#allowance(loanShare).waitMs(now, wanted) === 0)
      return undefined;
    return this.#requestLoan(wanted, now);
  }

  #holds(count: number): boolean {
    return this.#borrowed + tolerance >= count;
  }

  /** Excludes tokens that have been refilled since they were handed out. */
  #toReport(now: number): number {
    return Math.min(this.#unreported, this.missing(now));
  }

  #countsSeparately(now: number): boolean {
    return this.#ledger.isUnavailable || now < this.#separateUntil || this.#exchange?.isOverdue === true;
  }

  /** A call that counts for more than the burst needs a full bucket. */
  #required(count: number): number {
    return Math.min(count, Math.max(1, this.limit.burst));
  }

  #allowance(share: number): TokenBucket {
    const { perSecond, burst } = this.limit;
    this.#unborrowed.limit = { perSecond: perSecond * share, burst: Math.max(1, burst * share) };
    return this.#unborrowed;
  }

  #returnBorrowed(): void {
    this.#unreported -= this.#borrowed;
    this.#borrowed = 0;
  }

  #requestLoan(wanted: number, now: number): Promise<void> {
    this.#wanted += wanted;
    this.#requestedAt = Math.max(this.#requestedAt, now);
    if (this.#exchange === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const exchange = { isDone: promise, isOverdue: false };
      this.#exchange = exchange;
      // Calls of the same tick share one loan.
      setImmediate(async () => {
        await this.#borrowNow(() => {
          exchange.isOverdue = true;
          resolve();
        });
        this.#exchange = undefined;
        resolve();
      });
    }
    return this.#exchange.isDone;
  }

  async #borrowNow(onOverdue: () => void): Promise<void> {
    const [limit, now, wanted] = [this.limit, this.#requestedAt, this.#wanted];
    const used = this.#toReport(now);
    this.#wanted = 0;
    this.#unreported = 0;
    const result = await this.#ledger.exchange(this.#key, { limit, now, used, wanted }, onOverdue);
    if (result === undefined) {
      this.#unreported += used;
      this.#separateUntil = now + separateMs;
      return;
    }
    this.#borrowed += result.lent;
    this.#usedAt = Number.POSITIVE_INFINITY; // tokens are not idle before their first use
    this.setMissing(result.missing - this.#borrowed + this.#unreported, now);
    if (result.lent < wanted || result.missing > limit.burst - 1) this.#emptyUntil = now + emptyMs;
  }
}

/** Reports used tokens and borrows others. The row is locked until the end of the transaction. */
export async function lendTokens(applicationId: string, key: string, loan: Loan, queries: Queries): Promise<Lent> {
  const table = applicationId === "" ? "deployment_limit_buckets" : "limit_buckets";
  const bucket = await queries
    .insertInto(table)
    .values({ application_id: applicationId, key, missing: 0, at: loan.now, ends_at: loan.now })
    .onConflict((conflict) => conflict.columns(["application_id", "key"]).doUpdateSet({ key: sql.ref("excluded.key") }))
    .returning(["missing", "at"])
    .executeTakeFirstOrThrow();
  const lent = lend(bucket, loan);
  await queries
    .updateTable(table)
    .set({
      missing: lent.missing,
      at: lent.at,
      ends_at: lent.at + Math.ceil((lent.missing * 1_000) / loan.limit.perSecond),
    })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .execute();
  return lent;
}
