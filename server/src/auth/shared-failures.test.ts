// Runs on one engine: it replaces the database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLocalCounters } from "../limits/counters.ts";
import { createSignInGuard } from "./sign-in-guard.ts";

const attempt = {
  ...{ applicationId: "app", nameKey: "jane", deviceId: "device", address: "10.0.0.1", recognizedOrigin: undefined },
};

/** A guard of one of two workers, whose database does not answer. */
function start(isAway: boolean) {
  let asked = 0;
  const shared = {
    isAway,
    shouldProbe: () => false,
    async run(_work: unknown, onOverdue: () => void) {
      asked += 1;
      onOverdue();
      return undefined;
    },
    runPatiently: async () => undefined,
    keyOf: (name: string) => name,
  };
  const guard = createSignInGuard(
    {
      ...{ clock: { now: () => 1_000_000 }, counters: { ...createLocalCounters(1), shared } },
      ...{ onLockOut() {}, onGuessing() {} },
    },
    { rateLimits: true, signInFailuresMax: 10, workers: 2, passwordHashQueueMax: 256 },
  );
  const guess = () => guard.check(attempt, async () => false).catch(({ retryAfterSeconds }) => retryAfterSeconds);
  return { guess, asked: () => asked };
}

// spec/limits#several-processes
describe("SharedFailures", () => {
  for (const isAway of [true, false]) {
    it(`while the database ${isAway ? "is away" : "answers too late"}, a process admits its own share`, async () => {
      const { guess, asked } = start(isAway);
      const found: unknown[] = [];
      for (let n = 0; n < 6; n += 1) found.push(await guess());
      assert.deepEqual(found, [...Array(5).fill(false), 1]);
      assert.equal(asked() > 0, !isAway);
    });
  }
});
