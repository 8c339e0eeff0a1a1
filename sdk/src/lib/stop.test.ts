import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Stop, stopped, unlessStopped } from "./stop.ts";

describe("a stop signal", () => {
  it("calls each listener once, and calls later listeners at once", () => {
    const stop = new Stop();
    const calls: string[] = [];
    stop.add(() => calls.push("first"));
    const removed = () => calls.push("removed");
    stop.add(removed);
    stop.remove(removed);
    stop.stop();
    stop.stop();
    stop.add(() => calls.push("late"));
    assert.deepEqual(calls, ["first", "late"]);
    assert.throws(
      () => stop.throwIfStopped(),
      (reason) => reason === stopped,
    );
  });

  it("ends pending work, and leaves the result of finished work unchanged", async () => {
    const stop = new Stop();
    assert.equal(await unlessStopped(Promise.resolve(1), stop), 1);
    const endless = unlessStopped(new Promise(() => {}), stop);
    stop.stop();
    await assert.rejects(endless, (reason) => reason === stopped);
  });
});
