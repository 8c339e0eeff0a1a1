// Runs on one engine: it replaces the database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failures } from "./failure-counts.ts";
import { createSharedTurns, type GuessTurns } from "./guess-turns.ts";

/** The turns of several processes for one name, with a row in memory and a clock that the test moves. */
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
  const names = { applicationId: "app", key: "name", rate, rateAlone: { perSecond: 0.001, burst: 2 } };
  const turns = Array.from({ length: processes }, () =>
    createSharedTurns(names, { clock: { now: () => now }, failures }),
  );
  /** Takes turns everywhere as soon as the one before has begun. @returns how many began at each process */
  async function takeFor(seconds: number): Promise<number[]> {
    const until = now + seconds * 1_000;
    const begun: number[] = turns.map((each) => (each.takeNow() ? 1 : 0));
    const triesAt = turns.map(() => now);
    for (;;) {
      const at = Math.min(...triesAt);
      if (at > until) return begun;
      now = at;
      const process = triesAt.indexOf(at);
      const { count, waitMs } = await get(turns, process).take(1);
      triesAt[process] = at + Math.max(waitMs, 0.1);
      if (at + waitMs <= until) begun[process] = (begun[process] ?? 0) + count;
    }
  }
  return {
    turns,
    row,
    database,
    takeFor,
    advance(ms: number) {
      now += ms;
    },
  };
}

function get(turns: readonly GuessTurns[], process: number): GuessTurns {
  const found = turns[process];
  assert.ok(found);
  return found;
}

const total = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);

// spec/limits#several-processes
describe("turns of a name that several processes share", () => {
  it("let four processes together admit what one process admits, in turn", async () => {
    for (const burst of [20, 100]) {
      const { takeFor } = start({ burst });
      const begun = await takeFor(60);
      const exact = burst + 60 * 10;
      assert.ok(Math.abs(total(begun) - exact) <= 5, `${total(begun)} instead of ${exact}`);
      const later = await takeFor(60);
      assert.ok(Math.abs(total(later) - 600) <= 5, `${total(later)} instead of 600`);
      for (const each of later) assert.ok(Math.abs(each - 150) <= 2, later.join());
    }
  });

  it("cost no request for a first attempt, which is reported with the next one", async () => {
    const { turns, database } = start({ processes: 2 });
    const [one, other] = [get(turns, 0), get(turns, 1)];
    assert.deepEqual([one.takeNow(), one.takeNow(), database.changes], [true, false, 0]);
    assert.deepEqual(await one.take(200), { count: 99, waitMs: 0 });
    assert.deepEqual([other.takeNow(), await other.take(1)], [true, { count: 1, waitMs: 200 }]);
  });

  it("are counted one by one for operators, who have few", async () => {
    const { turns } = start({ burst: 20 });
    for (const each of turns) assert.equal(each.takeNow(), false);
    assert.deepEqual(await get(turns, 0).take(30), { count: 20, waitMs: 0 });
    assert.deepEqual(await get(turns, 1).take(30), { count: 1, waitMs: 100 });
  });

  it("fall back to the process's own rate while the database does not answer, and are reported later", async () => {
    const { turns, database } = start();
    const one = get(turns, 0);
    assert.equal(one.takeNow(), true);
    database.isAway = true;
    assert.deepEqual(await one.take(5), { count: 2, waitMs: 0 });
    assert.ok((await one.take(5)).waitMs > 900_000);
    database.isAway = false;
    assert.deepEqual(await one.take(200), { count: 99, waitMs: 0 });
  });

  it("recover from a time that a wrong clock has written", async () => {
    const { turns, row, advance } = start();
    row.waitsUntil = 1_000_000 + 3_600_000;
    assert.deepEqual(await get(turns, 0).take(200), { count: 100, waitMs: 0 });
    advance(10_000);
    assert.deepEqual(await get(turns, 1).take(200), { count: 100, waitMs: 0 });
  });
});
