import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "./clock.ts";

describe("the clock of the client", () => {
  it("completes a wait that is too long for one timer, and not early", (context) => {
    const delays: unknown[] = [];
    context.mock.method(globalThis, "setTimeout", (_run: () => void, ms: number) => {
      delays.push(ms);
    });
    systemClock.after(3_000_000_000, () => {});
    context.mock.restoreAll();
    assert.deepEqual(delays, [2_147_483_647]);
  });
});
