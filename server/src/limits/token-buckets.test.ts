// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createTokenBuckets, TokenBucket } from "./token-buckets.ts";

describe("TokenBucket", () => {
  it("never grants more than burst at once or burst plus perSecond over time, and never less", () => {
    const steps = fc.array(fc.nat(3_000), { maxLength: 200 });
    const limits = fc.record({
      perSecond: fc.constantFrom(0.1, 1 / 3, 1, 7, 200),
      burst: fc.integer({ min: 1, max: 50 }),
    });
    fc.assert(
      fc.property(limits, steps, (limit, waits) => {
        const bucket = new TokenBucket(limit, 0);
        const taken: number[] = [];
        let now = 0;
        for (const wait of waits) {
          now += wait;
          const waitMs = bucket.waitMs(now);
          // Checks every window up to now: one more token would be too many.
          const isTooMany = taken.some(
            (from, at) => taken.length - at + 1 > limit.burst + ((now - from) * limit.perSecond) / 1_000 + 1e-5,
          );
          assert.equal(waitMs > 0, isTooMany);
          if (waitMs > 0) {
            assert.equal(bucket.waitMs(now + Math.ceil(waitMs)), 0);
            assert.ok(waitMs < 1 || bucket.waitMs(now + Math.floor(waitMs) - 1) > 0);
          } else {
            bucket.take(now);
            taken.push(now);
          }
        }
      }),
    );
  });

  it("sustains its rate for an hour without a refusal", () => {
    const bucket = new TokenBucket({ perSecond: 3, burst: 2 }, 0);
    let refused = 0;
    for (let n = 0; n < 10_800; n++) {
      const now = Math.ceil((n * 1_000) / 3);
      if (bucket.waitMs(now) > 0) refused += 1;
      else bucket.take(now);
    }
    assert.equal(refused, 0);
  });

  it("does not refill when the limit changes or the time steps back", () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 10 }, 0);
    for (let n = 0; n < 10; n++) bucket.take(0);
    bucket.limit = { perSecond: 1, burst: 12 };
    assert.equal(bucket.waitMs(0), 0);
    bucket.take(0);
    bucket.take(0);
    assert.equal(bucket.waitMs(0), 1_000);
    assert.equal(bucket.waitMs(-5_000), 1_000);
    bucket.giveBack();
    assert.equal(bucket.waitMs(0), 0);
  });
});

describe("TokenBuckets", () => {
  const limit = { perSecond: 100, burst: 2 };

  it("store a million keys in bounded memory, and drop no bucket in use", () => {
    const buckets = createTokenBuckets(1_000);
    const heavy = buckets.find("heavy", limit, 0);
    heavy.take(0);
    heavy.take(0);
    for (let n = 0; n < 1_000_000; n++) {
      const bucket = buckets.find(`key ${n}`, limit, 0);
      if (bucket.waitMs(0) === 0) bucket.take(0);
    }
    assert.equal(buckets.size, 1_000);
    assert.equal(buckets.find("heavy", limit, 0), heavy);
  });

  it("share one bucket between new keys while they are full", () => {
    const buckets = createTokenBuckets(2);
    for (const key of ["a", "b"]) buckets.find(key, limit, 0).take(0);
    assert.equal(buckets.find("c", limit, 0), buckets.find("d", limit, 0));
    assert.notEqual(buckets.find("a", limit, 0), buckets.find("c", limit, 0));
    assert.notEqual(buckets.find("c", limit, 10), buckets.find("d", limit, 10));
    assert.equal(buckets.size, 2);
  });
});
