import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { plainCall, principalOf, readCall, refusal, success, writeCall } from "../../test/answers.ts";
import { createSimulatedClock } from "../../test/simulated-clock.ts";
import type { AnyCall } from "../wire/call.ts";
import { RollcallError } from "../wire/errors.ts";
import { createInterceptors } from "./interceptors.ts";
import type { TransportOptions } from "./options.ts";
import { createTransport } from "./transport.ts";

const totalMs = 90_000;
const modulus = 2 ** 31 - 1;

/** The faults that a network may cause for one request. `isDone` is whether the service has applied it. */
const behaviours: Readonly<Record<string, { isDone: boolean; answer: () => Promise<Response> }>> = {
  answered: { isDone: true, answer: async () => success({ id: "chk_1" }) },
  cutBefore: { isDone: false, answer: () => Promise.reject(new TypeError("fetch failed")) },
  cutAfter: { isDone: true, answer: () => Promise.reject(new TypeError("fetch failed")) },
  thrown: { isDone: false, answer: () => Promise.reject("a text") },
  silent: { isDone: true, answer: () => new Promise(() => {}) },
  endless: { isDone: true, answer: async () => new Response(new ReadableStream()) },
  truncated: { isDone: true, answer: async () => new Response('{"status":200,"resu') },
  empty: { isDone: true, answer: async () => new Response("") },
  null: { isDone: false, answer: async () => Response.json(null) },
  page: { isDone: false, answer: async () => new Response("<html>", { headers: { "content-type": "text/html" } }) },
  badGateway: { isDone: true, answer: async () => new Response("bad gateway", { status: 502 }) },
  forbidden: { isDone: false, answer: async () => new Response("no", { status: 403 }) },
  limited: { isDone: false, answer: async () => refusal(429, "RateLimitExceeded", { "Retry-After": "20" }) },
  limitedCaller: {
    isDone: false,
    answer: async () => refusal(429, "RateLimitExceeded", { "Retry-After": "7", RateLimit: '"caller";r=0;t=7' }),
  },
  overloaded: { isDone: true, answer: async () => refusal(503, "ServiceUnavailable", { "Retry-After": "2" }) },
  odd: { isDone: true, answer: async () => refusal(503, "ServiceUnavailable", { "Retry-After": "-5, soon" }) },
  broken: { isDone: true, answer: async () => refusal(500, "InternalError") },
  unknown: { isDone: false, answer: async () => refusal(418, "Teapot") },
};

/** The same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed % modulus;
  return () => {
    state = (state * 48_271 + 11) % modulus;
    return state / modulus;
  };
}

describe("a call over a hostile network", () => {
  it("settles in time, with a result or a typed error that says whether the write was applied", async () => {
    const call = fc.constantFrom<AnyCall>(readCall, writeCall, plainCall);
    const behaviour = fc.constantFrom(...Object.keys(behaviours));
    const plans = fc.array(fc.tuple(call, fc.array(behaviour, { minLength: 1, maxLength: 5 })), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(plans, fc.nat(), async (plans, seed) => {
        const clock = createSimulatedClock(randomFrom(seed));
        const done = new Map<string, number>();
        const interceptors = createInterceptors();
        const given: TransportOptions = {
          clock,
          logger: { debug() {}, info() {}, warn() {}, error() {} },
          fetch: async (_url, init) => {
            const headers = new Headers(init?.headers);
            const index = Number(headers.get("x-call"));
            const attempt = Number(headers.get("x-attempt"));
            const { isDone, answer } = behaviours[plans[index]?.[1][attempt - 1] ?? "answered"] ?? {};
            const effect = `${index} ${headers.get("idempotency-key") ?? attempt}`;
            if (isDone && init?.method === "POST") done.set(effect, (done.get(effect) ?? 0) + 1);
            return (answer ?? assert.fail)();
          },
        };
        const transport = createTransport(given, { interceptors });
        interceptors.add({
          attempt: (request, next) => {
            request.headers.set("x-attempt", `${request.attempt}`);
            return next();
          },
        });
        const startedAt = clock.now();
        const results = plans.map(([call], index) =>
          transport.send(call, principalOf("token"), { headers: { "x-call": `${index}` } }).then(
            () => ({ endedAt: clock.now(), error: undefined }),
            (error: unknown) => ({ endedAt: clock.now(), error }),
          ),
        );
        const ended = await clock.settle(Promise.all(results));
        for (const [index, { endedAt, error }] of ended.entries()) {
          assert.ok(endedAt - startedAt <= totalMs);
          const effects = [...done.keys()].filter((effect) => effect.startsWith(`${index} `));
          assert.ok(effects.length <= 1, "a write was done twice");
          if (error === undefined) continue;
          assert.ok(error instanceof RollcallError, String(error));
          if (error.outcome === "none") assert.deepEqual(effects, []);
          if (plans[index]?.[0] === readCall) assert.equal(error.outcome, "none");
        }
      }),
      { numRuns: 200 },
    );
  });

  it("resumes calls neither early nor simultaneously after a long refusal", async () => {
    const clock = createSimulatedClock(randomFrom(1));
    const principals = Array.from({ length: 50 }, (_, index) => principalOf("token", `usr_${index}`));
    const times = new Map<string, number[]>();
    const transports = principals.map((principal) =>
      createTransport({
        clock,
        timeouts: { totalMs: 300_000 },
        logger: { debug() {}, info() {}, warn() {}, error() {} },
        fetch: async () => {
          const before = times.get(principal.id) ?? [];
          times.set(principal.id, [...before, clock.now()]);
          return before.length > 0 ? success(true) : refusal(503, "ServiceUnavailable", { "Retry-After": "120" });
        },
      }).send(writeCall, principal),
    );
    await clock.settle(Promise.all(transports));
    const waits = [...times.values()].map(([first = 0, second = 0]) => second - first);
    assert.equal(waits.length, 50);
    assert.ok(waits.every((ms) => ms >= 120_000 && ms <= 144_000));
    assert.ok(new Set(waits.map((ms) => Math.floor(ms / 1000))).size > 3, "spread over more than three seconds");
  });
});
