import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSharedRuns } from "./shared-runs.ts";

describe("shared runs", () => {
  /** Numbered runs, which finish when the test calls an element of `ends`. */
  function createRuns() {
    const share = createSharedRuns<number>();
    const ends: (() => void)[] = [];
    const work = () => {
      const number = ends.length + 1;
      return new Promise<number>((resolve) => ends.push(() => resolve(number)));
    };
    return { ends, ask: (key: string) => share(key, work), share };
  }

  it("calls that arrive during a run share the next run", async () => {
    const { ends, ask } = createRuns();
    const [first, second, third] = [ask("a"), ask("a"), ask("a")];
    assert.equal(ends.length, 1);
    ends[0]?.();
    assert.equal(await first, 1);
    await new Promise(setImmediate);
    assert.equal(ends.length, 2);
    const fourth = ask("a");
    ends[1]?.();
    assert.deepEqual(await Promise.all([second, third]), [2, 2]);
    await new Promise(setImmediate);
    ends[2]?.();
    assert.equal(await fourth, 3);
  });

  it("calls with different keys do not wait for each other", () => {
    const { ends, ask } = createRuns();
    void ask("a");
    void ask("b");
    assert.equal(ends.length, 2);
  });

  it("a failure is thrown to the calls of its run only, and the next run begins", async () => {
    const { share } = createRuns();
    const failing = share("a", () => Promise.reject(new Error("no")));
    const next = share("a", async () => 5);
    await assert.rejects(failing, { message: "no" });
    assert.equal(await next, 5);
    assert.equal(await share("a", async () => 6), 6);
  });
});
