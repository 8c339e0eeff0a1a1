// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { KeyedSemaphore } from "./keyed-semaphore.ts";

describe("KeyedSemaphore", () => {
  it("passes a released slot to the job that has waited longest, and limits each key separately", async () => {
    const semaphore = new KeyedSemaphore(1);
    const begun: string[] = [];
    const releases: (() => void)[] = [];
    for (const name of ["a1", "a2", "a3", "b1"]) {
      void semaphore.acquire(name.charAt(0)).then((release) => {
        begun.push(name);
        releases.push(release);
      });
    }
    await setImmediate();
    assert.deepEqual([begun, semaphore.countOf("a"), semaphore.usedCount], [["a1", "b1"], 3, 2]);
    for (const expected of [
      ["a1", "b1", "a2"],
      ["a1", "b1", "a2"],
      ["a1", "b1", "a2", "a3"],
    ]) {
      releases.shift()?.();
      await setImmediate();
      assert.deepEqual(begun, expected);
    }
    releases.shift()?.();
    assert.deepEqual([semaphore.countOf("a"), semaphore.countOf("b"), semaphore.usedCount], [0, 0, 0]);
  });

  it("refuses a slot to a job that cannot wait, while all are held", () => {
    const semaphore = new KeyedSemaphore(1);
    const release = semaphore.tryAcquire("a");
    assert.equal(semaphore.tryAcquire("a"), undefined);
    release?.();
    assert.notEqual(semaphore.tryAcquire("a"), undefined);
  });
});
