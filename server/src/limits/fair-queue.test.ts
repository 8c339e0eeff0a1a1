// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FairQueue, type LaneSettings, type Ticket } from "./fair-queue.ts";

type Lane = "upload" | "link";
const largeLane: LaneSettings = { weight: 1, waitingMax: 100, waitingPerApplicationMax: 50, waitingPerCallerMax: 20 };

/** A queue whose jobs finish one at a time, when the test says so. */
function start(runningMax = 1, lanes: Partial<Record<Lane, Partial<LaneSettings>>> = {}) {
  const queue = new FairQueue<Lane>({
    name: "test",
    runningMax,
    lanes: { upload: { ...largeLane, ...lanes.upload }, link: { ...largeLane, ...lanes.link } },
    refuse: (reason) => new Error(reason),
  });
  const begun: string[] = [];
  const refused: string[] = [];
  const running: (() => void)[] = [];
  function add(name: string, ticket: Partial<Ticket<Lane>> = {}): void {
    const whole: Ticket<Lane> = { lane: "upload", application: name[0] ?? "", caller: name, ...ticket };
    const job = () => {
      begun.push(name);
      return new Promise<void>((end) => running.push(end));
    };
    queue.run(whole, job).catch((error: Error) => refused.push(`${name}: ${error.message}`));
  }
  /** Finishes running jobs until the given number of jobs has begun. */
  async function runUntil(count: number): Promise<string[]> {
    for (let rounds = 0; begun.length < count && rounds < 1_000; rounds++) {
      await setImmediate();
      if (begun.length < count) running.shift()?.();
    }
    await setImmediate();
    return begun;
  }
  return { queue, begun, refused, running, add, runUntil };
}

describe("FairQueue", () => {
  it("runs at most the allowed number of jobs at a time, and releases the slot after any outcome", async () => {
    const { queue, begun, add, runUntil } = start(2);
    for (let n = 0; n < 5; n++) add(`a${n}`);
    await setImmediate();
    assert.deepEqual(begun, ["a0", "a1"]);
    assert.deepEqual([queue.statistics().upload.running, queue.statistics().upload.waiting], [2, 3]);
    await runUntil(5);
    const free = new FairQueue({
      name: "test",
      runningMax: 1,
      lanes: { only: largeLane },
      refuse: (reason) => new Error(reason),
    });
    const ticket = { lane: "only", application: "a", caller: "a" } as const;
    await assert.rejects(
      free.run(ticket, () => Promise.reject(new Error("of the job"))),
      /of the job/,
    );
    assert.equal(await free.run(ticket, async () => 7), 7);
    assert.equal(free.statistics().only.running, 0);
  });

  it("serves applications round robin, then callers, however many jobs each has queued", async () => {
    const { add, runUntil } = start();
    for (let n = 0; n < 10; n++) add("a1");
    add("a2");
    add("b1");
    assert.deepEqual((await runUntil(5)).slice(1, 5), ["a1", "b1", "a2", "a1"]);
  });

  it("serves the lanes of an application by weight", async () => {
    const { add, runUntil } = start(1, { upload: { weight: 3 } });
    add("a0");
    for (let n = 0; n < 8; n++) add("a link", { lane: "link" });
    for (let n = 0; n < 6; n++) add("a upload");
    const order = (await runUntil(9)).slice(1, 9);
    assert.equal(order.filter((name) => name === "a upload").length, 6, order.join());
  });

  it("accepts jobs in a lane when other lanes are full", async () => {
    const { add, refused, runUntil } = start(1, { link: { waitingMax: 3 } });
    for (let n = 0; n < 10; n++) add("a link", { lane: "link", caller: `c${n}` });
    add("b upload");
    await setImmediate();
    assert.deepEqual(refused, Array(6).fill("a link: full"));
    assert.deepEqual((await runUntil(3)).slice(0, 3), ["a link", "a link", "b upload"]);
  });

  it("gives reserved slots only to their lane, which may use all slots", async () => {
    const { begun, add, running } = start(2, { upload: { reserved: 1 } });
    for (let n = 0; n < 5; n++) add(`l${n}`, { lane: "link" });
    add("u0");
    await setImmediate();
    assert.deepEqual(begun, ["l0", "u0"]);
    running[1]?.();
    await setImmediate();
    assert.deepEqual(begun, ["l0", "u0"], "the slot is kept free");
    for (const name of ["u1", "u2"]) add(name);
    running[0]?.();
    await setImmediate();
    assert.deepEqual(begun.slice(2), ["u1", "l1"]);
  });

  it("limits the entries of a caller and of an application", async () => {
    const limits = { waitingPerCallerMax: 2, waitingPerApplicationMax: 3 };
    const { queue, add, refused } = start(1, { upload: limits });
    add("first");
    for (let n = 0; n < 4; n++) add("a1");
    await setImmediate();
    assert.deepEqual(refused, Array(2).fill("a1: full"));
    for (const name of ["a2", "a3", "b1"]) add(name);
    await setImmediate();
    // a2 took the last slot of the application; a3 has none and replaces an entry of a1.
    assert.deepEqual(refused.slice(2), ["a1: full"]);
    assert.deepEqual([queue.statistics().upload.waiting, queue.statistics().upload.refused], [4, 3]);
  });

  it("replaces an entry of the application with the most entries when it is full", async () => {
    const { add, refused, runUntil } = start(1, { upload: { waitingMax: 4, waitingPerApplicationMax: 4 } });
    add("first");
    for (let n = 0; n < 4; n++) add("a1");
    add("b1");
    add("b2");
    add("b3");
    await setImmediate();
    assert.deepEqual(refused.sort(), ["a1: full", "a1: full", "b3: full"]);
    assert.deepEqual((await runUntil(5)).slice(1), ["a1", "b1", "a1", "b2"]);
  });

  it("removes an abandoned entry immediately, and does not run it", async () => {
    const { queue, add, refused, begun, runUntil } = start();
    const gone = new AbortController();
    let isWanted = true;
    add("first");
    add("a1", { signal: gone.signal });
    add("a2", { isWanted: () => isWanted });
    add("a3");
    gone.abort();
    isWanted = false;
    await setImmediate();
    assert.deepEqual(refused, ["a1: abandoned"]);
    assert.equal(queue.statistics().upload.waiting, 2);
    await runUntil(2);
    assert.deepEqual(begun, ["first", "a3"]);
    assert.deepEqual(refused, ["a1: abandoned", "a2: abandoned"]);
    add("a4", { signal: gone.signal });
    await setImmediate();
    assert.deepEqual(refused.slice(2), ["a4: abandoned"]);
    assert.equal(queue.statistics().upload.abandoned, 3);
  });

  it("accepts new entries in place of abandoned ones", async () => {
    const { add, refused, runUntil } = start(1, { upload: { waitingPerCallerMax: 2 } });
    let isWanted = true;
    add("first");
    for (let n = 0; n < 2; n++) add("a1", { isWanted: () => isWanted });
    isWanted = false;
    add("a1 again", { caller: "a1" });
    await setImmediate();
    assert.deepEqual(refused, Array(2).fill("a1: abandoned"));
    assert.deepEqual(await runUntil(2), ["first", "a1 again"]);
  });
});
