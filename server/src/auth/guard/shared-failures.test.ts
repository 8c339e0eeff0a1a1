// Runs on one engine: it replaces the database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLocalCounters } from "../../limits/counters.ts";
import { createSignInGuard } from "./sign-in-guard.ts";

// spec/limits#several-processes
describe("SharedFailures", () => {
  it("lets a process admit its own share while the database does not answer", async () => {
    const shared = { runPatiently: async () => undefined, keyOf: (name: string) => name };
    const counters = { ...createLocalCounters(1), shared };
    const guard = createSignInGuard(
      { clock: { now: () => 1_000_000 }, counters, onLockOut() {}, onGuessing() {} },
      { rateLimits: true, signInFailuresMax: 10, workers: 2, passwordHashQueueMax: 256 },
    );
    const attempt = { applicationId: "app", nameKey: "jane", deviceId: "device", address: "10.0.0.1" };
    const guess = () =>
      guard
        .check({ ...attempt, recognizedOrigin: undefined }, async () => false)
        .catch(({ retryAfterSeconds }) => retryAfterSeconds);
    const found: unknown[] = [];
    for (let n = 0; n < 6; n += 1) found.push(await guess());
    assert.deepEqual(found, [...Array(5).fill(false), 1]);
  });
});
