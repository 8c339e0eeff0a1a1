import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestOperator, type TestUser } from "./harness.ts";

const stormSize = 48;
const readsOfMeasure = 200;
const attemptsMax = 5;
/** What a processor that is shared with others may add to the slowest call in a hundred. */
const noiseMs = 40;

let test: TestApp;
let user: TestUser;
let operator: TestOperator;
before(async () => {
  // Hashes of the cost of the defaults: a login keeps a processor for some time.
  test = await startTestApp({ RATE_LIMITS: "off", PASSWORD_HASH_MEMORY_KIB: "19456", PASSWORD_HASH_PASSES: "2" });
  user = await test.signUp();
  operator = await test.createOperator();
});
after(() => test.close());

async function timed(call: () => Promise<Answer>, isRight: boolean): Promise<number> {
  const startedAt = performance.now();
  const answer = await call();
  assert.equal(answer.body.success, isRight, answer.text);
  return performance.now() - startedAt;
}

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
}

/** Requests that need a token and no hash, one after the other. */
async function measure(call: () => Promise<Answer>): Promise<number> {
  const times: number[] = [];
  while (times.length < readsOfMeasure) times.push(await timed(call, true));
  return quantile(times, 0.99);
}

/** Keeps so many logins under way until it is told to stop, and says how long they took. */
function beginStorm(logIn: () => Promise<Answer>, isRight: boolean): () => Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  const senders = Array.from({ length: stormSize }, async () => {
    while (!isOver) times.push(await timed(logIn, isRight));
  });
  return async () => {
    isOver = true;
    await Promise.all(senders);
    return times;
  };
}

const storms: Readonly<Record<string, readonly [logIn: () => Promise<Answer>, isRight: boolean]>> = {
  "logins of users": [
    () => {
      const body = { username: user.userName, password: user.password };
      return test.call("POST /users/login", { token: user.deviceToken, body });
    },
    true,
  ],
  "wrong passwords of operators": [
    () => test.call("POST /_/api/sessions", { body: { name: operator.name, password: "wrong" } }),
    false,
  ],
};

describe("a storm of logins and of operators' sign-ins: hostile.md 11", () => {
  for (const [what, [logIn, isRight]] of Object.entries(storms)) {
    it(`${what}: who has a token does not wait for their hashes`, { timeout: 120_000 }, async () => {
      const calls = [
        () => test.call("GET /users/me", { token: user.token }),
        () => test.call("GET /_/api/operators/me", { token: operator.token }),
      ];
      for (const call of calls) {
        await measure(call); // what is compiled is compiled
        const seen: string[] = [];
        let isGood = false;
        while (!isGood && seen.length < attemptsMax) {
          const alone = await measure(call);
          const endStorm = beginStorm(logIn, isRight);
          const during = await measure(call);
          const login = quantile(await endStorm(), 0.5);
          // Who had to queue with the logins would take as long as they do.
          isGood = during <= 2 * alone + noiseMs && during < login / 2;
          seen.push(
            `p99 ${alone.toFixed(1)} ms alone, ${during.toFixed(1)} ms beside logins of ${login.toFixed(1)} ms`,
          );
        }
        assert.ok(isGood, seen.join("; "));
      }
    });
  }
});
