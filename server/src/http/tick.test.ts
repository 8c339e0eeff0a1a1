// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTick } from "./tick.ts";

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

describe("createTick", () => {
  it("releases the requests of one tick together, in order, after one call of begin", async () => {
    const log: string[] = [];
    const endOfTick = createTick(() => log.push("begin"));
    endOfTick(() => log.push("A"));
    endOfTick(() => log.push("B"));
    assert.equal(log.length, 0);
    await nextTick();
    assert.deepEqual(log, ["begin", "A", "B"]);
    endOfTick(() => log.push("C"));
    await nextTick();
    assert.deepEqual(log, ["begin", "A", "B", "begin", "C"]);
  });

  it("fails all of them when begin throws, and recovers in the next tick", async () => {
    let isBroken = true;
    const endOfTick = createTick(() => {
      if (isBroken) throw new Error("on purpose");
    });
    const failures: (string | undefined)[] = [];
    const note = (failure?: Error) => void failures.push(failure?.message);
    endOfTick(note);
    endOfTick(note);
    await nextTick();
    isBroken = false;
    endOfTick(note);
    await nextTick();
    assert.deepEqual(failures, ["on purpose", "on purpose", undefined]);
  });
});
