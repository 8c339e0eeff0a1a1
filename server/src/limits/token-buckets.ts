import type { Limit } from "../contract/policy.ts";
import type { Clock } from "../lib/clock.ts";

/** Floating-point sums of tokens are inexact; a token may be this much less than 1. */
export const tolerance = 1e-6;

const minuteMs = 60_000;

/** Reserved tokens. */
export interface Reserved {
  /** At least one. */
  readonly count: number;
  /** The time until they are valid; if it is not 0, there is one. */
  readonly waitMs: number;
}

/** Holds up to `burst` tokens, and refills by `perSecond`. Times must come from a clock that never steps back. */
export class TokenBucket {
  limit: Limit;
  /** The tokens that were missing at `#at`; a change of the limit does not affect them. */
  #missing = 0;
  #at: number;
  #minuteEnds = 0;
  #takenInMinute = 0;

  constructor(limit: Limit, now: number) {
    this.limit = limit;
    this.#at = now;
  }

  /** Creates a bucket that is full at a time. */
  static fullAt(at: number, limit: Limit, now: number): TokenBucket {
    const bucket = new TokenBucket(limit, now);
    bucket.setMissing(((at - now) * limit.perSecond) / 1_000, now);
    return bucket;
  }

  /** The time at which the bucket is full. */
  fullAt(now: number): number {
    return now + (this.missing(now) * 1_000) / this.limit.perSecond;
  }

  /** Returns the time until `count` tokens are available, or until the bucket is full; 0 if they are available. */
  waitMs(now: number, count = 1): number {
    const over = this.missing(now) + Math.min(count, Math.max(1, this.limit.burst)) - this.limit.burst;
    return over <= tolerance ? 0 : (over * 1_000) / this.limit.perSecond;
  }

  /** @param count may exceed the available tokens, which delays later ones */
  take(now: number, count = 1): void {
    this.#missing = this.missing(now) + count;
    this.#at = Math.max(this.#at, now);
    if (now >= this.#minuteEnds) {
      this.#minuteEnds = now + minuteMs;
      this.#takenInMinute = 0;
    }
    this.#takenInMinute += count;
  }

  /** The whole tokens that can be taken now; negative while some are owed. */
  available(now: number): number {
    return Math.floor(this.limit.burst - this.missing(now) + tolerance);
  }

  /** Takes up to `wanted` tokens that are available or, if there are none, the next one. */
  reserve(now: number, wanted: number): Reserved {
    const waitMs = this.waitMs(now);
    const count = Math.max(1, Math.min(wanted, this.available(now)));
    this.take(now, count);
    return { count, waitMs };
  }

  /**
   * The tokens taken in the latest minute. A minute begins with the first token that is taken after the previous
   * minute.
   */
  get takenInMinute(): number {
    return this.#takenInMinute;
  }

  /** Returns a token for an action that did not happen. */
  giveBack(): void {
    this.#missing = Math.max(0, this.#missing - 1);
  }

  /**
   * Call it before `take` for tokens that are available. A bucket that processes share acquires them from the database.
   *
   * @returns undefined if this process holds the tokens; otherwise a promise, after which the caller must check
   * `waitMs` again
   */
  borrow(_now: number, _count = 1): Promise<void> | undefined {
    return undefined;
  }

  missing(now: number): number {
    const filled = (Math.max(0, now - this.#at) * this.limit.perSecond) / 1_000;
    return Math.max(0, this.#missing - filled);
  }

  protected setMissing(missing: number, now: number): void {
    this.#missing = Math.max(0, missing);
    this.#at = now;
  }
}

type Refuse = (bucket: TokenBucket, waitMs: number) => Error;

/**
 * Takes `count` tokens from each of the buckets, or none if one of them has too few.
 *
 * @returns undefined, or a promise if a bucket must borrow tokens: nothing has been taken, and the caller must try
 * again after it
 * @throws the error that `refuse` returns for a bucket and the time until it has enough tokens
 */
export function takeFromAll(
  buckets: readonly (TokenBucket | undefined)[],
  now: number,
  refuse: Refuse,
  count = 1,
): Promise<void> | undefined {
  for (const bucket of buckets) {
    const waitMs = bucket?.waitMs(now, count) ?? 0;
    if (bucket !== undefined && waitMs > 0) throw refuse(bucket, waitMs);
  }
  for (const bucket of buckets) {
    const borrowing = bucket?.borrow(now, count);
    if (borrowing !== undefined) return borrowing;
  }
  for (const bucket of buckets) bucket?.take(now, count);
  return undefined;
}

/** Takes a token from a bucket, after it has borrowed one if necessary. @throws the error that `refuse` returns */
export async function takeToken(bucket: TokenBucket, clock: Clock, refuse: (waitMs: number) => Error): Promise<void> {
  const take = () => takeFromAll([bucket], clock.now(), (_, waitMs) => refuse(waitMs));
  for (let borrowing = take(); borrowing !== undefined; borrowing = take()) await borrowing;
}

/** Buckets by key, created on demand. */
export interface TokenBuckets {
  /** @param applicationId the application that the key belongs to; empty for keys of the deployment */
  find(key: string, limit: Limit, now: number, applicationId?: string): TokenBucket;
  readonly size: number;
}

export type CreateBucket = (key: string, limit: Limit, now: number, applicationId: string) => TokenBucket;

const createLocalBucket: CreateBucket = (_key, limit, now) => new TokenBucket(limit, now);

/** The number of buckets to examine when a new one needs space. */
const examinedMax = 8;

/**
 * Stores at most `bucketsMax` buckets. Drops only full buckets, which are equal to new ones, so that a caller gains
 * nothing by it. Without space, all new keys share one bucket. To cause that, an attacker must prevent every other
 * bucket from being full, with some calls per second for each.
 */
export function createTokenBuckets(bucketsMax: number, create: CreateBucket = createLocalBucket): TokenBuckets {
  const buckets = new Map<string, TokenBucket>();
  /** Examined round robin. */
  const entries: { readonly key: string; readonly bucket: TokenBucket }[] = [];
  let next = 0;
  let shared: TokenBucket | undefined;

  /** @returns the index of a full bucket; undefined if no examined bucket is full */
  function acquire(now: number): number | undefined {
    for (let examined = 0; examined < examinedMax; examined++) {
      const at = next;
      next = (next + 1) % entries.length;
      const found = entries[at];
      if (found?.bucket.missing(now) !== 0) continue;
      buckets.delete(found.key);
      return at;
    }
    return undefined;
  }

  function make(key: string, limit: Limit, now: number, applicationId: string): TokenBucket {
    const index = entries.length < bucketsMax ? entries.length : acquire(now);
    if (index === undefined) {
      shared ??= new TokenBucket(limit, now);
      return shared;
    }
    const bucket = create(key, limit, now, applicationId);
    entries[index] = { key, bucket };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    find(key, limit, now, applicationId = "") {
      const bucket = buckets.get(key) ?? make(key, limit, now, applicationId);
      bucket.limit = limit;
      return bucket;
    },
    get size() {
      return buckets.size;
    },
  };
}
