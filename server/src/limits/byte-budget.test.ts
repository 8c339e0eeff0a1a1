// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createByteBudget } from "./byte-budget.ts";

const owner = (application: string, caller = "one") => ({ application, caller });

/** Adds one byte at a time until it is refused. */
function takeAll(budget: ReturnType<typeof createByteBudget>, application: string, caller = "one"): number {
  let taken = 0;
  while (budget.hold(owner(application, caller)).tryAdd(1)) taken += 1;
  return taken;
}

describe("a byte budget (hostile.md 37)", () => {
  it("gives one caller at most a third, so that other callers of the application are served", () => {
    const budget = createByteBudget(9_000);
    assert.equal(takeAll(budget, "a"), 3_000);
    assert.ok(takeAll(budget, "a", "two") >= 1_000);
  });

  it("gives one application at most a half, however many callers it has", () => {
    const budget = createByteBudget(9_000);
    for (let count = 0; count < 100; count += 1) takeAll(budget, "a", `caller ${count}`);
    assert.equal(budget.heldBytes, 4_500);
    assert.equal(takeAll(budget, "b"), 1_500);
  });

  it("reuses released bytes, and ignores a second release", () => {
    const budget = createByteBudget(1_000);
    const held = budget.hold(owner("a"));
    assert.ok(held.tryAdd(300));
    assert.ok(!held.tryAdd(300));
    held.release();
    held.release();
    assert.equal(budget.heldBytes, 0);
    assert.ok(budget.hold(owner("b")).tryAdd(300));
  });
});
