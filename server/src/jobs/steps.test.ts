// Runs on one engine: uses no database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSteps } from "./steps.ts";

// spec/deployment#jobs-of-a-process
describe("a step of a job", () => {
  it("is stopped when its time is over, which is no failure, so that the other applications have their turn", async () => {
    const lines: object[] = [];
    const log = { info: (about: object) => void lines.push(about), warn: assert.fail } as const;
    const steps = createSteps("maintenance", log, 10);
    const done: string[] = [];
    await steps.run("compact", "app_much", async (signal) => {
      for (;;) await sleep(1, undefined, { signal });
    });
    await steps.run("compact", "app_little", async () => void done.push("app_little"));
    assert.deepEqual(done, ["app_little"]);
    assert.deepEqual(lines, [{ step: "compact", appid: "app_much" }]);
    assert.deepEqual([...steps.failures()], []);
  });

  it("has failed if it ends with another error after its time is over", async () => {
    const lines: object[] = [];
    const log = { info: assert.fail, warn: (about: object) => void lines.push(about) } as const;
    const steps = createSteps("maintenance", log, 10);
    const err = new Error("the store does not answer");
    await steps.run("eraseApplication", "app", async (signal) => {
      await sleep(60_000, undefined, { signal }).catch(() => {});
      throw err;
    });
    assert.deepEqual(lines, [{ err, step: "eraseApplication", appid: "app" }]);
    assert.deepEqual(
      [...steps.failures()].map(({ step, count }) => [step, count]),
      [["eraseApplication", 1]],
    );
  });

  it("stops the round when the round is stopped", async () => {
    const stopping = new AbortController();
    const steps = createSteps("maintenance", { info: assert.fail, warn: assert.fail });
    const step = steps.run("compact", "app", (signal) => sleep(60_000, undefined, { signal }), stopping.signal);
    stopping.abort();
    await assert.rejects(step, { name: "AbortError" });
  });
});
