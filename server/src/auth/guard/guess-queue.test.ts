// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLocalLimiter, type GuessLimiter } from "./guess-limiter.ts";
import { createGuessQueue } from "./guess-queue.ts";

const limits = { perSecond: 200, burst: 1, waitingPerNetworkMax: 1 };

/** Grants one permit per call, after all attempts of the same tick have arrived. */
const oneByOne: GuessLimiter = {
  tryAcquire: () => false,
  reserve: async () => ({ count: 1, waitMs: 1 }),
  isIdle: false,
};

/** Starts attempts that record when they were admitted. */
function start(given: Partial<typeof limits> = {}, createLimiter?: () => GuessLimiter) {
  const { waitingPerNetworkMax, ...rate } = { ...limits, ...given };
  const queue = createGuessQueue({
    waitingPerNetworkMax,
    createLimiter: createLimiter ?? (() => createLocalLimiter(rate)),
  });
  const order: string[] = [];
  const take = (network: string, signal?: AbortSignal, key = "name") =>
    queue.take({ applicationId: "", key, networks: [network], signal }).then(
      () => void order.push(network),
      (error) => void order.push(`${network} ${error.condition} ${error.retryAfterSeconds ?? ""}`.trim()),
    );
  return { take, order };
}

// spec/limits#recognized-devices, spec/limits#operator-sign-ins
describe("GuessQueue", () => {
  it("admits a burst immediately, and then as many attempts as the rate allows", async () => {
    const { take, order } = start({ perSecond: 2, burst: 3 });
    const startedAt = performance.now();
    const all = Promise.all(["a", "b", "c", "d", "e"].map((network) => take(network)));
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(order, ["a", "b", "c"]);
    await all;
    assert.ok(performance.now() - startedAt > 900, "two more take a second");
  });

  it("does not make a new network wait for a thousand networks that came before", async () => {
    const { take, order } = start({ perSecond: 1_000 });
    const all = Array.from({ length: 900 }, (_, n) => take(`n${n}`));
    await take("newcomer");
    assert.ok(order.length < 20, `${order.length} were before`);
    await Promise.all(all);
    assert.equal(order.length, 901, "all have their turn");
  });

  it("serves a network without permits before a network that has had some", async () => {
    const { take, order } = start({}, () => oneByOne);
    await take("attacker");
    await take("attacker");
    const all = [take("attacker"), take("first"), take("second")];
    await Promise.all(all);
    assert.equal(order.at(-1), "attacker");
  });

  it("holds one waiting attempt per network, and answers the next one with 429 and 1 s", async () => {
    const { take, order } = start();
    await Promise.all([take("a"), take("a"), take("a"), take("b")]);
    assert.deepEqual(order.toSorted(), ["a", "a", "a RateLimitExceeded 1", "b"]);
  });

  it("evicts one of a thousand waiting attempts for a new network", async () => {
    const { take, order } = start();
    const gone = new AbortController();
    const all = Array.from({ length: 1_001 }, (_, n) => take(`n${n}`, gone.signal)); // the first one does not wait
    await take("newcomer");
    assert.ok(order.length < 10, `${order.length} were before`);
    assert.equal(order.filter((each) => each.includes("RateLimitExceeded")).length, 1);
    gone.abort();
    await Promise.all(all);
  });

  it("drops an attempt immediately when its client disconnects, and uses no permit for it", async () => {
    const { take, order } = start({ perSecond: 20 });
    const gone = new AbortController();
    const all = Promise.all([take("a"), take("b", gone.signal), take("c")]);
    gone.abort();
    await all;
    assert.deepEqual(order.toSorted(), ["a", "b ServiceUnavailable 1", "c"]);
  });

  it("does not make one key wait for another", async () => {
    const { take, order } = start({ perSecond: 1 });
    const gone = new AbortController();
    const waiting = [take("a"), take("b", gone.signal)];
    await take("c", undefined, "another name");
    assert.deepEqual(order, ["a", "c"]);
    gone.abort();
    await Promise.all(waiting);
  });
});
