import { type Limit, TokenBucket, tolerance } from "../lib/token-buckets.ts";
import { type CounterKey, type Lent, type Loan, loanShare } from "./shared-buckets.store.ts";

/** The place where the processes of a deployment count the tokens that they hand out. */
export interface TokenLedger {
  /** True while the database does not answer: each process then counts for itself. */
  readonly isAway: boolean;
  /** The part of a limit that this process admits while the ledger is unavailable. */
  readonly shareAlone: number;
  /** True at most once a second while the ledger is unavailable. */
  shouldProbe(): boolean;
  /**
   * Reports and borrows tokens.
   *
   * @param onOverdue is called when callers should no longer wait for the result
   * @returns undefined when it failed
   */
  exchange(key: CounterKey, loan: Loan, onOverdue: () => void): Promise<Lent | undefined>;
}

/** A process that has not used its borrowed tokens for this long returns them with its next loan. */
const idleMs = 1_000;
/** The interval after a loan that failed. */
const aloneMs = 1_000;
/** The interval between two loans of an empty bucket. */
const emptyMs = 20;

/**
 * A bucket whose tokens all processes share. Tokens are borrowed from the database, some at once, and handed out from
 * memory. A process hands out a small share of the limit without a query, so that callers far from their limit cost no
 * statement; it reports them with its first loan.
 *
 * The inherited state is the shared bucket as this process knows it, in which its own borrowed tokens are available.
 */
export class SharedBucket extends TokenBucket {
  readonly #key: CounterKey;
  readonly #ledger: TokenLedger;
  /** The tokens that this process hands out without having borrowed them. */
  readonly #unborrowed: TokenBucket;
  /** Tokens that the database counts as taken, and that this process may hand out. */
  #borrowed = 0;
  /** Tokens that this process has handed out and the database does not count; negative for those to return. */
  #unreported = 0;
  #usedAt = 0;
  #askedAt = 0;
  /** The bucket was found empty and is not queried again before this time. */
  #emptyUntil = 0;
  /** The last loan failed, and this process counts alone until this time. */
  #aloneUntil = 0;
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
    if (this.#countsAlone(now)) return Math.max(waitMs, this.#allowance(this.#ledger.shareAlone).waitMs(now, count));
    if (now >= this.#emptyUntil || this.#holds(this.#least(count))) return waitMs;
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
    const needed = this.#least(count);
    if (this.#borrowed > 0 && now - this.#usedAt >= idleMs) this.#returnBorrowed();
    if (this.#holds(needed)) return undefined;
    const wanted = needed - this.#borrowed;
    if (this.#countsAlone(now)) {
      if (this.#ledger.shouldProbe()) this.#ask(wanted, now);
      return undefined;
    }
    if (wanted <= this.limit.burst * loanShare && this.#allowance(loanShare).waitMs(now, wanted) === 0)
      return undefined;
    return this.#ask(wanted, now);
  }

  #holds(count: number): boolean {
    return this.#borrowed + tolerance >= count;
  }

  /** Excludes tokens that have returned since. */
  #toReport(now: number): number {
    return Math.min(this.#unreported, this.missing(now));
  }

  #countsAlone(now: number): boolean {
    return this.#ledger.isAway || now < this.#aloneUntil || this.#exchange?.isOverdue === true;
  }

  /** A call that counts for more than the bucket can hold needs a full one. */
  #least(count: number): number {
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

  #ask(wanted: number, now: number): Promise<void> {
    this.#wanted += wanted;
    this.#askedAt = Math.max(this.#askedAt, now);
    if (this.#exchange === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const exchange = { isDone: promise, isOverdue: false };
      this.#exchange = exchange;
      // Calls that arrive in the same tick of the event loop share one loan.
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
    const [limit, now, wanted] = [this.limit, this.#askedAt, this.#wanted];
    const used = this.#toReport(now);
    this.#wanted = 0;
    this.#unreported = 0;
    const result = await this.#ledger.exchange(this.#key, { limit, now, used, wanted }, onOverdue);
    if (result === undefined) {
      this.#unreported += used;
      this.#aloneUntil = now + aloneMs;
      return;
    }
    this.#borrowed += result.lent;
    this.#usedAt = Number.POSITIVE_INFINITY; // not idle before its first use
    this.setMissing(result.missing - this.#borrowed + this.#unreported, now);
    if (result.lent < wanted || result.missing > limit.burst - 1) this.#emptyUntil = now + emptyMs;
  }
}
