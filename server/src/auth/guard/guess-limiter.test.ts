// Runs on one engine: it replaces the database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failures } from "./failure-counts.ts";
import { createSharedLimiter, type GuessLimiter } from "./guess-limiter.ts";

/** Starts one rate limiter per process for the same name, with a row in memory and a clock that the test moves. */
function start({ burst = 100, processes = 4 } = {}) {
  let now = 1_000_000;
  const database = { isAway: false, changes: 0 };
  const row: Failures = { failures: 0, underWay: 0, waitsUntil: 0, forgottenAt: 0 };
  const failures = {
    async change<T>(_applicationId: string, _key: string, apply: (failures: Failures) => T) {
      database.changes += 1;
      return database.isAway ? undefined : apply(row);
    },
  };
  const rate = { perSecond: 10, burst };
  const names = { applicationId: "app", key: "name", rate, fallbackRate: { perSecond: 0.001, burst: 2 } };
  const limiters = Array.from({ length: processes }, () =>
    createSharedLimiter(names, { clock: { now: () => now }, failures }),
  );
  /**
   * Reserves the next permit in each process as soon as the previous one is valid. @returns the permits of each process
   */
  async function reserveFor(seconds: number): Promise<number[]> {
    const until = now + seconds * 1_000;
    const permits: number[] = limiters.map((each) => (each.tryAcquire() ? 1 : 0));
    const triesAt = limiters.map(() => now);
    for (;;) {
      const at = Math.min(...triesAt);
      if (at > until) return permits;
      now = at;
      const process = triesAt.indexOf(at);
      const { count, waitMs } = await get(limiters, process).reserve(1);
      triesAt[process] = at + Math.max(waitMs, 0.1);
      if (at + waitMs <= until) permits[process] = (permits[process] ?? 0) + count;
    }
  }
  return {
    limiters,
    row,
    database,
    reserveFor,
    advance(ms: number) {
      now += ms;
    },
  };
}

function get(limiters: readonly GuessLimiter[], process: number): GuessLimiter {
  const found = limiters[process];
  assert.ok(found);
  return found;
}

const total = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);

// spec/limits#several-processes
describe("a rate limit of guesses that several processes share", () => {
  it("admits with four processes what one process admits, in equal shares", async () => {
    for (const burst of [20, 100]) {
      const { reserveFor } = start({ burst });
      const permits = await reserveFor(60);
      const exact = burst + 60 * 10;
      assert.ok(Math.abs(total(permits) - exact) <= 5, `${total(permits)} instead of ${exact}`);
      const later = await reserveFor(60);
      assert.ok(Math.abs(total(later) - 600) <= 5, `${total(later)} instead of 600`);
      for (const each of later) assert.ok(Math.abs(each - 150) <= 2, later.join());
    }
  });

  it("costs no request for a first attempt, which is reported with the next one", async () => {
    const { limiters, database } = start({ processes: 2 });
    const [one, other] = [get(limiters, 0), get(limiters, 1)];
    assert.deepEqual([one.tryAcquire(), one.tryAcquire(), database.changes], [true, false, 0]);
    assert.deepEqual(await one.reserve(200), { count: 99, waitMs: 0 });
    assert.deepEqual([other.tryAcquire(), await other.reserve(1)], [true, { count: 1, waitMs: 200 }]);
  });

  it("counts every attempt of operators, whose burst is small", async () => {
    const { limiters } = start({ burst: 20 });
    for (const each of limiters) assert.equal(each.tryAcquire(), false);
    assert.deepEqual(await get(limiters, 0).reserve(30), { count: 20, waitMs: 0 });
    assert.deepEqual(await get(limiters, 1).reserve(30), { count: 1, waitMs: 100 });
  });

  it("falls back to a rate of the process while the database does not answer, and reports the attempts later", async () => {
    const { limiters, database } = start();
    const one = get(limiters, 0);
    assert.equal(one.tryAcquire(), true);
    database.isAway = true;
    assert.deepEqual(await one.reserve(5), { count: 2, waitMs: 0 });
    assert.ok((await one.reserve(5)).waitMs > 900_000);
    database.isAway = false;
    assert.deepEqual(await one.reserve(200), { count: 99, waitMs: 0 });
  });

  it("recovers from a time that a wrong clock has written", async () => {
    const { limiters, row, advance } = start();
    row.waitsUntil = 1_000_000 + 3_600_000;
    assert.deepEqual(await get(limiters, 0).reserve(200), { count: 100, waitMs: 0 });
    advance(10_000);
    assert.deepEqual(await get(limiters, 1).reserve(200), { count: 100, waitMs: 0 });
  });
});
