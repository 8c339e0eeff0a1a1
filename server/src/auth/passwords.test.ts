// Runs on one engine: it tests hashes and their queue.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertError, startTestApp } from "../../test/harness.ts";
import { ApiError } from "../lib/errors.ts";
import { createPasswords } from "./passwords.ts";

const cheap = { passwordHashMemoryKib: 8, passwordHashPasses: 1, passwordHashThreads: 2, passwordHashQueueMax: 256 };

/** Passwords of unrecognized callers in one application. */
function passwordsOf(settings: Partial<typeof cheap> = {}) {
  const passwords = createPasswords({ ...cheap, ...settings }, { outsideTransaction: (_key, work) => work() });
  const ticket = { lane: "unrecognized_user", application: "app", caller: "192.0.2.0" } as const;
  return {
    ...passwords,
    hash: (password: string) => passwords.hash(password, ticket),
    verify: (storedHash: string | undefined, password: string) => passwords.verify(storedHash, password, ticket),
  };
}

describe("passwords", () => {
  it("are stored as argon2id hashes with the configured costs, each with its own salt", async () => {
    const passwords = passwordsOf({ passwordHashMemoryKib: 16, passwordHashPasses: 3 });
    const first = await passwords.hash("correct horse");
    const second = await passwords.hash("correct horse");
    assert.notEqual(first, second);
    for (const hash of [first, second]) assert.match(hash, /^\$argon2id\$v=19\$m=16,t=3,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  });

  it("verify only when correct, in any Unicode form", async () => {
    const passwords = passwordsOf();
    const hash = await passwords.hash("Pässwörd");
    for (const right of ["Pässwörd", "Pässwörd".normalize("NFD")]) assert.ok(await passwords.verify(hash, right));
    for (const wrong of ["", "pässwörd", "Pässwörd ", "Password", hash]) {
      assert.equal(await passwords.verify(hash, wrong), false, wrong);
    }
  });

  it("are compared by all of their 1,024 characters of four bytes", async () => {
    const passwords = passwordsOf();
    const long = "𝒳".repeat(1_023);
    const hash = await passwords.hash(`${long}a`);
    assert.ok(await passwords.verify(hash, `${long}a`));
    assert.equal(await passwords.verify(hash, `${long}b`), false);
  });

  it("verify against hashes of other costs, which count as outdated", async () => {
    const before = passwordsOf();
    const after = passwordsOf({ passwordHashMemoryKib: 16, passwordHashPasses: 2 });
    const hash = await before.hash("correct horse");
    assert.ok(await after.verify(hash, "correct horse"));
    assert.equal(await after.verify(hash, "wrong"), false);
    assert.equal(before.isOutdated(hash), false);
    assert.equal(after.isOutdated(hash), true);
    assert.equal(after.isOutdated(await after.hash("correct horse")), false);
  });

  it("never verify without a hash (an unknown user), and cost the same work", async () => {
    const passwords = passwordsOf({ passwordHashMemoryKib: 16_384, passwordHashPasses: 2, passwordHashThreads: 1 });
    const hash = await passwords.hash("correct horse");
    const work = async (storedHash: string | undefined) => {
      const before = process.cpuUsage();
      assert.equal(await passwords.verify(storedHash, "wrong"), false);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const known: number[] = [];
    const unknown: number[] = [];
    for (let n = 0; n < 7; n++) {
      known.push(await work(hash));
      unknown.push(await work(undefined));
    }
    // Compares processor work, not time, with a wide margin: without the hash it would be close to zero.
    const ratio = median(unknown) / median(known);
    assert.ok(ratio > 0.6 && ratio < 1.6, `unknown costs ${ratio} of known`);
  });
});

// spec/limits#password-hashing
describe("the queue of passwords", () => {
  it("runs and queues a bounded number concurrently, and refuses the rest immediately", async () => {
    const passwords = passwordsOf({ passwordHashThreads: 2, passwordHashQueueMax: 3 });
    const order: string[] = [];
    const burst = Array.from({ length: 9 }, () =>
      passwords.hash("correct horse").then(
        () => order.push("done"),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.deepEqual([error.condition, error.retryAfterSeconds], ["ServiceUnavailable", 1]);
          order.push("refused");
        },
      ),
    );
    await Promise.all(burst);
    assert.deepEqual(order, [...Array(4).fill("refused"), ...Array(5).fill("done")]);
  });

  it("counts verifications with and without a hash alike", async () => {
    const passwords = passwordsOf({ passwordHashThreads: 1, passwordHashQueueMax: 1 });
    const hash = await passwords.hash("correct horse");
    const results = await Promise.allSettled([
      passwords.verify(undefined, "x"),
      passwords.verify(hash, "correct horse"),
      passwords.verify(undefined, "x"),
      passwords.verify(hash, "correct horse"),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "rejected"],
    );
  });

  it("frees its slots after any outcome, failures included", async () => {
    const passwords = passwordsOf({ passwordHashThreads: 1, passwordHashQueueMax: 1 });
    for (let n = 0; n < 5; n++) {
      await assert.rejects(passwords.verify("no hash at all", "x"));
      await assert.doesNotReject(passwords.hash("correct horse"));
    }
  });

  it("makes POST /users/login answer 503 ServiceUnavailable with Retry-After once it is full, and the other logins succeed", async (t) => {
    // Slow hashes, so that the complete burst arrives before the first hash is done.
    const slow = { PASSWORD_HASH_MEMORY_KIB: "65536", PASSWORD_HASH_PASSES: "2" };
    const test = await startTestApp({ ...slow, PASSWORD_HASH_THREADS: "1", PASSWORD_HASH_QUEUE_MAX: "1" });
    t.after(() => test.close());
    const { deviceToken: token, token: userToken, userName, password } = await test.signUp();
    const body = { username: userName, password };
    const order: number[] = [];
    const answers = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const answer = await test.call("POST /users/login", { token, body });
        order.push(answer.status);
        return answer;
      }),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(answers.length - refused.length >= 2);
    assert.ok(refused.length > 0);
    assert.equal(order[0], 503, "a refusal waits for nothing");
    for (const answer of refused) {
      assertError(answer, 503, "ServiceUnavailable", 1284, "Too many sign-ins are waiting. Try again.");
      assert.equal(answer.headers["retry-after"], "1");
    }
    assert.equal((await test.call("POST /users/login", { token, body })).status, 200);
    assert.equal((await test.call("GET /users/me", { token: userToken })).status, 200);
  });
});

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
