// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Clock } from "../../lib/clock.ts";
import { createFailureCounts, createLocalFailures, type FailureCounts } from "./failure-counts.ts";

describe("FailureCounts", () => {
  function start(failuresMax: number, keysMax: number, clock: Clock = { now: () => 0 }) {
    const store = createLocalFailures({ processes: 1, keysMax }, clock);
    const counts = createFailureCounts({ kind: "test", failuresMax, waitingMax: 1_000 }, { clock, stores: [store] });
    return { counts, store };
  }

  async function fail(counts: FailureCounts, key: string, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const begun = await counts.begin(key);
      assert.ok(typeof begun === "object", `${key} has to wait ${begun}`);
      await begun.fail();
    }
  }

  it("bounds the number of keys, and forgets those with the fewest failures first", async () => {
    const { counts, store } = start(10, 1_000);
    await fail(counts, "locked", 10);
    await fail(counts, "nearly", 9);
    for (let n = 0; n < 100_000; n++) await fail(counts, `key ${n}`, 1);
    assert.equal(store.size, 1_000);
    assert.equal(await counts.begin("locked"), 1_000);
    await fail(counts, "nearly", 1);
    assert.equal(await counts.begin("nearly"), 1_000);
  });

  it("stores nothing for successful attempts", async () => {
    const { counts, store } = start(10, 1_000);
    for (let n = 0; n < 2_000; n++) {
      const begun = await counts.begin(`key ${n}`);
      assert.ok(typeof begun === "object");
      await begun.end(true);
    }
    assert.equal(store.size, 0);
  });

  it("admits one attempt after a waiting time, and the others once it succeeds", async () => {
    let now = 0;
    const { counts } = start(2, 10, { now: () => now });
    await fail(counts, "key", 2);
    assert.equal(await counts.begin("key"), 1_000);
    now += 1_000;
    const probe = await counts.begin("key");
    assert.ok(typeof probe === "object");
    assert.equal(await counts.begin("key"), 1_000);
    probe.end(true);
    assert.equal(typeof (await counts.begin("key")), "object");
  });

  it("attempts beyond the remaining ones wait for the outcome of the earlier ones", async () => {
    const { counts } = start(2, 10);
    const [first, second] = await Promise.all([counts.begin("key"), counts.begin("key")]);
    assert.ok(typeof first === "object" && typeof second === "object");
    const third = counts.begin("key");
    const fourth = counts.begin("key");
    first.end(false);
    const begun = await third;
    assert.ok(typeof begun === "object");
    second.fail();
    begun.fail();
    assert.equal(await fourth, 1_000);
  });
});
