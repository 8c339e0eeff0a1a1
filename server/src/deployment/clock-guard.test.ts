import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createClockGuard } from "./clock-guard.ts";

const hour = 3_600_000;
const day = 24 * hour;
let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

// spec/deployment#maintenance-and-the-clock
describe("maintenance after a clock jump", () => {
  let monotonic = 0;
  const guardOf = () => createClockGuard(test.app, () => monotonic);

  it("waits for an hour, or until an operator confirms the clock", async () => {
    const guard = guardOf();
    const start = Date.now();
    assert.equal(await guard.mayDelete(start), true);
    await guard.finished(start);
    assert.equal(await guard.mayDelete(start + day), true);
    assert.equal(await guard.mayDelete(start - 3_650 * day), true);
    for (const jump of [day + 1, 3_650 * day]) {
      monotonic += hour;
      await guard.finished(start);
      assert.equal(await guard.mayDelete(start), true);
      assert.equal(await guard.mayDelete(start + jump), false);
      monotonic += hour - 1;
      assert.equal(await guard.mayDelete(start + jump), false);
      monotonic += 1;
      assert.equal(await guard.mayDelete(start + jump), true);
    }
    await guard.finished(start + 3_650 * day); // as the command does
    assert.equal(await guardOf().mayDelete(start + 3_650 * day), true);
    assert.equal(test.logLines.filter(({ msg }) => /the clock has jumped/.test(`${msg}`)).length, 2);
  });
});
