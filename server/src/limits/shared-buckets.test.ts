// Runs on one engine: the ledger is in memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { rounds } from "../../test/rounds.ts";
import type { Limit } from "../contract/policy.ts";
import { type Lent, lend, SharedBucket, type TokenLedger } from "./shared-buckets.ts";
import { TokenBucket } from "./token-buckets.ts";

const key = { applicationId: "app", name: "name" };

/** A ledger of one bucket, shared by several `SharedBucket`s in place of processes. */
function createTestLedger() {
  let stored: Pick<Lent, "missing" | "at"> = { missing: 0, at: 0 };
  const ledger = { isUnavailable: false, isFailing: false, probes: 0, exchanges: 0 };
  const tokens: TokenLedger = {
    get isUnavailable() {
      return ledger.isUnavailable;
    },
    unsharedFraction: 1 / 4,
    shouldProbe: () => ledger.probes-- > 0,
    async exchange(_key, loan) {
      ledger.exchanges += 1;
      if (ledger.isUnavailable || ledger.isFailing) return undefined;
      const lent = lend(stored, loan);
      stored = lent;
      return lent;
    },
  };
  const open = (limit: Limit) => new SharedBucket(key, limit, 0, tokens);
  return { ledger, open };
}

/** Takes a token as a call does. @returns false if the call is refused */
async function call(bucket: TokenBucket, now: number, count = 1): Promise<boolean> {
  for (;;) {
    if (bucket.waitMs(now, count) > 0) return false;
    const borrowing = bucket.borrow(now, count);
    if (borrowing === undefined) break;
    await borrowing;
  }
  bucket.take(now, count);
  return true;
}

// spec/limits#several-processes
describe("SharedBucket", () => {
  it("admits the same in four processes as in one, to a few percent", async () => {
    const { open } = createTestLedger();
    const limit = { perSecond: 10, burst: 2_000 };
    const processes = Array.from({ length: 4 }, () => open(limit));
    let admitted = 0;
    for (let second = 0; second <= 60; second += 1) {
      for (let n = 0; n < 1_000; n += 1) {
        for (const process of processes) if (await call(process, second * 1_000)) admitted += 1;
      }
    }
    const exact = 2_000 + 60 * 10;
    assert.ok(admitted <= exact * 1.05 && admitted >= exact * 0.95, `${admitted} instead of ${exact}`);
  });

  it("admits exactly as a local bucket in a single process, even concurrent calls", async () => {
    const steps = fc.array(fc.record({ waitMs: fc.nat(3_000), calls: fc.integer({ min: 1, max: 9 }) }), {
      maxLength: 60,
    });
    const limits = fc.record({ perSecond: fc.constantFrom(0.1, 1, 7), burst: fc.integer({ min: 1, max: 200 }) });
    await fc.assert(
      fc.asyncProperty(limits, steps, async (limit, moments) => {
        const [shared, own] = [createTestLedger().open(limit), new TokenBucket(limit, 0)];
        let now = 0;
        for (const { waitMs, calls } of moments) {
          now += waitMs;
          const each = () => Array.from({ length: calls });
          const admitted = await Promise.all(each().map(() => call(shared, now)));
          const expected = await Promise.all(each().map(() => call(own, now)));
          assert.deepEqual(admitted.toSorted(), expected.toSorted());
          assert.ok(Math.abs(shared.missing(now) - own.missing(now)) < 1e-6);
        }
      }),
      { numRuns: rounds(50) },
    );
  });

  it("requests no loan for a caller far below the limit, and few for a busy one", async () => {
    const { ledger, open } = createTestLedger();
    const limit = { perSecond: 200, burst: 2_000 };
    const [quiet, busy] = [open(limit), open(limit)];
    for (let n = 0; n < 600; n += 1) assert.ok(await call(quiet, n * 500));
    assert.equal(ledger.exchanges, 0);
    for (let n = 0; n < 6_000; n += 1) assert.ok(await call(busy, n * 10));
    assert.ok(ledger.exchanges < 300, `${ledger.exchanges} for 6,000 calls`);
  });

  it("reports the calls that it admitted without a loan with its next loan", async () => {
    const { open } = createTestLedger();
    const limit = { perSecond: 0.001, burst: 128 };
    const [one, other] = [open(limit), open(limit)];
    let admitted = 0;
    for (let n = 0; n < 200; n += 1) if (await call(one, 0)) admitted += 1;
    assert.equal(admitted, 128);
    for (let n = 0; n < 200; n += 1) if (await call(other, 0)) admitted += 1;
    assert.equal(admitted, 130, "the share of the other process");
  });

  it("returns the tokens of a call that did not happen, and borrowed tokens after a second without calls", async () => {
    const { open } = createTestLedger();
    const limit = { perSecond: 100, burst: 640 };
    const [one, other] = [open(limit), open(limit)];
    for (let n = 0; n < 640; n += 1) {
      assert.ok(await call(one, 0));
      one.giveBack();
    }
    assert.ok(await call(one, 1_000, 30)); // returns the borrowed tokens, and borrows again
    let admitted = 0;
    for (let n = 0; n < 640; n += 1) if (await call(other, 1_000)) admitted += 1;
    assert.ok(admitted >= 590, `${admitted}`);
  });

  it("does not delay calls when a loan fails, and retries after a second", async () => {
    const { ledger, open } = createTestLedger();
    const bucket = open({ perSecond: 0.001, burst: 10 });
    ledger.isFailing = true;
    assert.deepEqual([await call(bucket, 0), await call(bucket, 500)], [true, true]);
    assert.equal(ledger.exchanges, 1);
    ledger.isFailing = false;
    assert.deepEqual([await call(bucket, 1_000), ledger.exchanges], [true, 2]);
  });

  it("admits a process's share while the ledger is unavailable, and reports it afterwards", async () => {
    const { ledger, open } = createTestLedger();
    const limit = { perSecond: 0.001, burst: 100 };
    const [one, other] = [open(limit), open(limit)];
    ledger.isUnavailable = true;
    let admitted = 0;
    for (let n = 0; n < 100; n += 1) if (await call(one, 0)) admitted += 1;
    assert.equal(admitted, 25);
    assert.equal(ledger.exchanges, 0);
    ledger.isUnavailable = false;
    for (let n = 0; n < 200; n += 1) if (await call(one, 0)) admitted += 1;
    assert.equal(admitted, 100);
    assert.equal(await call(other, 0), true, "the share of the other process");
    assert.equal(await call(other, 0), false);
  });
});
