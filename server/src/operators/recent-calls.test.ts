// Runs on one engine: no database takes part.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnsweredCall } from "../http/request-observer.ts";
import { ApiError } from "../lib/errors.ts";
import { createRecentCalls, recentCallsLimits } from "./requests.ts";

function call(n: number, more: Partial<AnsweredCall> = {}): AnsweredCall {
  const asked = { requestId: `r${n}`, at: n, method: "GET", path: "/users/me", address: "::1" };
  return { ...asked, operation: "getOwnUser", status: 200, ms: 1, caller: undefined, failure: undefined, ...more };
}

const small = { callsPerApplication: 10, refusalsPerApplication: 3, callsTotal: 30, bytesTotal: 100_000 };

describe("recent calls", () => {
  it("include refusals and successful calls, each once", () => {
    const recent = createRecentCalls(small);
    for (let n = 1; n <= 5; n += 1)
      recent.record("a", call(n, { status: 404, failure: new ApiError("ItemDoesNotExist") }));
    for (let n = 6; n <= 18; n += 1) recent.record("a", call(n));
    const numbers = recent.list("a", 0).map(({ number }) => number);
    assert.deepEqual(numbers, [3, 4, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
    assert.deepEqual(recent.list("a", 0)[0]?.call.error, "ItemDoesNotExist");
    assert.deepEqual(recent.lastDropped("a", false), { number: 8, at: 8 });
    assert.deepEqual(recent.lastDropped("a", true), { number: 2, at: 2 });
    assert.deepEqual(
      recent.list("a", 16).map(({ number }) => number),
      [17, 18],
    );
    assert.deepEqual(recent.list("b", 0), []);
    recent.record(undefined, call(19));
    assert.equal(recent.lastNumber, 18);
  });

  it("are dropped first for the least recently active application", () => {
    const recent = createRecentCalls(small);
    for (const application of ["a", "b", "c", "a", "d"])
      for (let n = 0; n < 10; n += 1) recent.record(application, call(n));
    assert.deepEqual(
      ["a", "b", "c", "d"].map((application) => recent.list(application, 0).length),
      [10, 0, 10, 10],
    );
    assert.equal(recent.lastDropped("b", false).number, 41, "the call that had no room");
    assert.deepEqual(recent.lastDropped("c", false), recent.lastDropped("d", true), "neither has lost any");
  });

  it("occupy at most 16 MB, even with long paths and messages", () => {
    const recent = createRecentCalls();
    const path = `/${"x".repeat(10_000)}`;
    for (let n = 0; n < 120_000; n += 1) {
      const failure = n % 3 === 0 ? new ApiError("ParameterOutOfRange", "m".repeat(300)) : undefined;
      recent.record(`app${n % 500}`, call(n, { path, status: failure ? 400 : 200, failure }));
    }
    const { calls, bytes } = recent.statistics;
    assert.ok(calls > 1_000 && calls <= recentCallsLimits.callsTotal, `${calls}`);
    assert.ok(bytes <= recentCallsLimits.bytesTotal, `${bytes}`);
    assert.equal(recent.list("app499", 0)[0]?.call.path?.length, 256);
  });
});
