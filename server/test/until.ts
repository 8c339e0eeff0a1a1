import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const pollMs = 10;

/** Waits for a state, and fails when it is not reached in time. */
export async function until(isReached: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!(await isReached())) {
    assert.ok(performance.now() < endsAt, "the expected state was not reached in time");
    await sleep(pollMs);
  }
}
