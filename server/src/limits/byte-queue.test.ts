// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createByteBudget, createByteQueue, type HeldBytes } from "./byte-budget.ts";

const bytesMax = 9_000;

function start({ waitMs = 10_000 } = {}) {
  const budget = createByteBudget(bytesMax);
  const queue = createByteQueue({ budget, waitMs, refuse: (reason) => new Error(reason) });
  /** The work that has begun or was refused, in order. */
  const log: string[] = [];

  function add(name: string, bytes: number | (() => number), { isGone = (): boolean => false } = {}): HeldBytes {
    const [application = "", caller = ""] = name.split(" ");
    const owner = { application, caller };
    const held = budget.hold(owner);
    const ticket = { owner, held, bytes: typeof bytes === "number" ? () => bytes : bytes, isGone };
    queue.wait(ticket).then(
      () => void log.push(name),
      (error: Error) => void log.push(`${name}: ${error.message}`),
    );
    return held;
  }
  return { budget, add, log };
}

/** Waits until all work that fits has begun. */
async function settle(): Promise<void> {
  for (let tick = 0; tick < 20; tick += 1) await setImmediate();
}

describe("a byte queue (hostile.md 37, 43)", () => {
  it("starts work that fits immediately, and reserves its bytes", async () => {
    const { budget, add, log } = start();
    const held = add("a one", 1_000);
    await settle();
    assert.deepEqual([log, budget.heldBytes], [["a one"], 1_000]);
    held.release();
    assert.equal(budget.heldBytes, 0);
  });

  it("serves applications round robin, and the callers of each, however much one of them requests", async () => {
    const { add, log } = start();
    for (let n = 0; n < 3; n += 1) add("a one", 10);
    for (const name of ["a two", "b one"]) add(name, 10);
    await settle();
    assert.deepEqual(log, ["a one", "b one", "a two", "a one", "a one"]);
  });

  it("makes work that does not fit wait until bytes are released, without blocking work that fits", async () => {
    const { add, log } = start();
    const first = add("a one", 3_000);
    await settle();
    add("a one", 2_500);
    add("b one", 100);
    await settle();
    assert.deepEqual(log, ["a one", "b one"]);
    first.release();
    await settle();
    assert.deepEqual(log, ["a one", "b one", "a one"]);
  });

  it("reads the size when the work may start, because the estimate improves while it waits", async () => {
    const { budget, add, log } = start();
    let estimate = 6_000;
    add("a one", () => estimate);
    await settle();
    assert.deepEqual([log, budget.heldBytes], [[], 0]);
    estimate = 500;
    add("b one", 10).release(); // a release makes the queue check again
    await settle();
    assert.deepEqual(log.toSorted(), ["a one", "b one"]);
    assert.equal(budget.heldBytes, 510);
  });

  it("refuses work that has waited too long, and reserves no bytes for it", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { budget, add, log } = start({ waitMs: 30 });
    const first = add("a one", 3_000);
    await settle();
    add("a one", 3_000);
    t.mock.timers.tick(30);
    await settle();
    assert.deepEqual(log, ["a one", "a one: full"]);
    first.release();
    await settle();
    assert.deepEqual([log.length, budget.heldBytes], [2, 0]);
  });

  it("rejects abandoned work when it is its turn, and continues with the next entry", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { budget, add, log } = start({ waitMs: 30 });
    let isGone = false;
    const first = add("a one", 3_000);
    await settle();
    add("a one", 3_000, { isGone: () => isGone });
    add("a one", 2_000);
    isGone = true;
    first.release();
    await settle();
    assert.deepEqual([log, budget.heldBytes], [["a one", "a one: abandoned", "a one"], 2_000]);
    t.mock.timers.tick(30); // until the time-out would have passed
    await settle();
    assert.equal(log.length, 3);
  });
});
