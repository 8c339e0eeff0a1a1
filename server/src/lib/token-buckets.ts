/** How much may be done: `burst` at once, `perSecond` for ever. */
export interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Sums of fractions of tokens are not exact; a whole one may be short of this much. */
const tolerance = 1e-6;

/** Holds up to `burst` tokens, and gets `perSecond` new ones. Times are those of a clock that never steps back. */
export class TokenBucket {
  limit: Limit;
  /** Tokens that were missing at `at`: of these a change of the limit changes nothing. */
  #missing = 0;
  #at: number;

  constructor(limit: Limit, now: number) {
    this.limit = limit;
    this.#at = now;
  }

  /** How long it takes until there is a token; 0 when there is one. */
  waitMs(now: number): number {
    const over = this.missing(now) + 1 - this.limit.burst;
    return over <= tolerance ? 0 : (over * 1_000) / this.limit.perSecond;
  }

  take(now: number): void {
    this.#missing = this.missing(now) + 1;
    this.#at = Math.max(this.#at, now);
  }

  /** For what then did not happen. */
  giveBack(): void {
    this.#missing = Math.max(0, this.#missing - 1);
  }

  missing(now: number): number {
    const filled = (Math.max(0, now - this.#at) * this.limit.perSecond) / 1_000;
    return Math.max(0, this.#missing - filled);
  }
}

/** Buckets by key, made when they are asked for. */
export interface TokenBuckets {
  find(key: string, limit: Limit, now: number): TokenBucket;
  readonly size: number;
}

/** So many of the oldest are looked at to make room for a new one. */
const lookedAtMax = 8;

/**
 * Keeps at most `bucketsMax`. Only full ones are dropped, which a new one is too, so nobody is better off for having been
 * forgotten. Where there is no room all newcomers share one: it takes as many calls to get there as keep each of the
 * others from being full, which is some per second for each of them.
 */
export function createTokenBuckets(bucketsMax: number): TokenBuckets {
  const buckets = new Map<string, TokenBucket>();
  let shared: TokenBucket | undefined;

  function makeRoom(now: number): boolean {
    let lookedAt = 0;
    for (const [key, bucket] of buckets) {
      buckets.delete(key);
      if (bucket.missing(now) === 0) return true;
      buckets.set(key, bucket); // at the end: the next time others are looked at
      lookedAt += 1;
      if (lookedAt === lookedAtMax) break;
    }
    return false;
  }

  return {
    find(key, limit, now) {
      let bucket = buckets.get(key);
      if (bucket === undefined) {
        if (buckets.size < bucketsMax || makeRoom(now)) {
          bucket = new TokenBucket(limit, now);
          buckets.set(key, bucket);
        } else {
          shared ??= new TokenBucket(limit, now);
          bucket = shared;
        }
      }
      bucket.limit = limit;
      return bucket;
    },
    get size() {
      return buckets.size;
    },
  };
}
