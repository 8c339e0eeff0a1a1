import assert from "node:assert/strict";
import { it } from "node:test";
import { startTestApp } from "./harness.ts";

const rounds = 15;
const attemptsMax = 8;

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/**
 * Times, in turns, so that whatever else the machine does meets both alike. It is measured again when they differ: noise
 * goes away, and an answer that comes early does not.
 */
async function assertAlike(what: string, known: () => Promise<void>, unknown: () => Promise<void>): Promise<void> {
  const ratios: number[] = [];
  while (ratios.length < attemptsMax) {
    const times = { known: [] as number[], unknown: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      const turn = [["known", known] as const, ["unknown", unknown] as const];
      for (const [kind, work] of round % 2 === 0 ? turn : turn.toReversed()) {
        const startedAt = performance.now();
        await work();
        times[kind].push(performance.now() - startedAt);
      }
    }
    const ratio = median(times.unknown) / median(times.known);
    if (ratio > 0.9 && ratio < 1.1) return;
    ratios.push(ratio);
  }
  assert.fail(`${what}: an unknown name takes ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")} of a known one`);
}

it("an unknown name takes as long as a wrong password: hostile.md 6", async (t) => {
  // Many more guesses than anybody is let try, and hashes that cost enough for their absence to show.
  const app = await startTestApp({
    RATE_LIMITS: "off",
    PASSWORD_HASH_MEMORY_KIB: "16384",
    PASSWORD_HASH_PASSES: "2",
  });
  t.after(() => app.close());
  const { userName, deviceToken: token } = await app.signUp();
  const { name } = await app.createOperator();
  async function logIn(username: string): Promise<void> {
    const answer = await app.call("POST /users/login", { token, body: { username, password: "wrong" } });
    assert.equal(answer.status, 403);
  }
  async function signIn(given: string): Promise<void> {
    const answer = await app.call("POST /_/api/sessions", { body: { name: given, password: "wrong" } });
    assert.ok([401, 403].includes(answer.status), answer.text);
  }
  for (const work of [() => logIn(userName), () => logIn("Nobody"), () => signIn(name), () => signIn("Nobody")])
    await work(); // what is compiled is compiled
  await assertAlike(
    "users",
    () => logIn(userName),
    () => logIn("Nobody"),
  );
  await assertAlike(
    "operators",
    () => signIn(name),
    () => signIn("Nobody"),
  );
});
