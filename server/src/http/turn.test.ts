import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTurn } from "./turn.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("createTurn", () => {
  it("lets the requests of one turn go on together, in order, after one begin", async () => {
    const log: string[] = [];
    const endOfTurn = createTurn(() => log.push("begin"));
    endOfTurn(() => log.push("A"));
    endOfTurn(() => log.push("B"));
    assert.equal(log.length, 0);
    await nextTurn();
    assert.deepEqual(log, ["begin", "A", "B"]);
    endOfTurn(() => log.push("C"));
    await nextTurn();
    assert.deepEqual(log, ["begin", "A", "B", "begin", "C"]);
  });

  it("fails all of them when begin throws, and goes on with the next turn", async () => {
    let isBroken = true;
    const endOfTurn = createTurn(() => {
      if (isBroken) throw new Error("on purpose");
    });
    const failures: (string | undefined)[] = [];
    const note = (failure?: Error) => void failures.push(failure?.message);
    endOfTurn(note);
    endOfTurn(note);
    await nextTurn();
    isBroken = false;
    endOfTurn(note);
    await nextTurn();
    assert.deepEqual(failures, ["on purpose", "on purpose", undefined]);
  });
});
