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
  /** In the order in which they are looked at, over and over. */
  const kept: { readonly key: string; readonly bucket: TokenBucket }[] = [];
  let next = 0;
  let shared: TokenBucket | undefined;

  /** @returns the place of one that is full; undefined when there is none among those that were looked at */
  function takePlace(now: number): number | undefined {
    for (let lookedAt = 0; lookedAt < lookedAtMax; lookedAt++) {
      const at = next;
      next = (next + 1) % kept.length;
      const found = kept[at];
      if (found?.bucket.missing(now) !== 0) continue;
      buckets.delete(found.key);
      return at;
    }
    return undefined;
  }

  function make(key: string, limit: Limit, now: number): TokenBucket {
    const place = kept.length < bucketsMax ? kept.length : takePlace(now);
    if (place === undefined) {
      shared ??= new TokenBucket(limit, now);
      return shared;
    }
    const bucket = new TokenBucket(limit, now);
    kept[place] = { key, bucket };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    find(key, limit, now) {
      const bucket = buckets.get(key) ?? make(key, limit, now);
      bucket.limit = limit;
      return bucket;
    },
    get size() {
      return buckets.size;
    },
  };
}
