import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestApplication, createTestDeployment, type TestDeployment } from "../../../test/deployments.ts";
import { createLog } from "../../config/log.ts";
import type { Database } from "../../db/database.ts";
import { openDatabase } from "../../db/open.ts";
import { createLimitCounters } from "../../limits/counters.ts";
import { createSignInGuard, type Guessing, type SignInAttempt, type SignInGuard } from "./sign-in-guard.ts";

/** The guards of four processes on one database, whose clocks stand still. */

const processes = [0, 1, 2, 3];
const skip = process.env["TEST_DATABASE_URL"] === undefined && "processes on one SQLite file do not share counters";

// spec/limits#several-processes
describe("password guesses at four processes", { skip }, () => {
  let deployment: TestDeployment;
  let databases: Database[];
  let guards: SignInGuard[];
  let applicationId: string;
  let now = 1_000_000;
  const guessings: Guessing[] = [];
  before(async () => {
    deployment = await createTestDeployment();
    const { DATABASE_URL } = deployment.settings;
    applicationId = (await createTestApplication(deployment.settings)).appid;
    const options = { connectionsMax: 4, timeoutMs: 60_000 };
    databases = await Promise.all(processes.map(() => openDatabase(DATABASE_URL, options)));
    guards = databases.map((database) => {
      const services = { database, secrets: ["secret"], log: createLog("silent") };
      const counters = createLimitCounters({ workers: 1, databaseTimeoutMs: options.timeoutMs }, services);
      return createSignInGuard(
        {
          counters,
          clock: { now: () => now },
          onLockOut() {},
          onGuessing: (guessing) => void guessings.push(guessing),
        },
        { rateLimits: true, signInFailuresMax: 10, workers: 1, passwordHashQueueMax: 256 },
      );
    });
  });
  after(async () => {
    for (const database of databases) await database.close();
    await deployment.remove();
  });

  /** Whether the password was right, or the seconds to wait. */
  function attempt(process: number, given: Partial<SignInAttempt>, isRight = false) {
    const address = { address: "10.0.0.1", deviceId: "device", recognizedOrigin: undefined };
    const whole = { applicationId, nameKey: "jane", ...address, ...given };
    const guard = guards[process % guards.length];
    assert.ok(guard);
    return guard.check(whole, async () => isRight).catch(({ retryAfterSeconds }) => retryAfterSeconds);
  }

  async function attempts(count: number, given: Partial<SignInAttempt>): Promise<unknown[]> {
    return Promise.all(Array.from({ length: count }, (_, n) => attempt(n, given)));
  }

  it("are checked as often as by one process when they are simultaneous, with the same waiting times", async () => {
    const given = { nameKey: "spread" };
    const first = await attempts(40, given);
    assert.equal(first.filter((each) => each === false).length, 10);
    assert.equal(first.filter((each) => each === 1).length, 30);
    for (const seconds of [1, 2, 4]) {
      assert.equal(await attempt(seconds, given, true), seconds);
      now += seconds * 1_000;
      assert.equal(await attempt(seconds + 1, given), false);
    }
    now += 8_000;
    assert.equal(await attempt(0, given, true), true);
    const again = await attempts(40, given);
    assert.equal(again.filter((each) => each === false).length, 10, "the right one has reset them");
  });

  it("never refuse correct passwords for their number", async () => {
    const right = Array.from({ length: 40 }, (_, n) => attempt(n, { nameKey: "right" }, true));
    assert.deepEqual(new Set(await Promise.all(right)), new Set([true]));
  });

  it("are reported once after a hundred wrong passwords for a name, whichever processes they reach", async () => {
    const wrong = Array.from({ length: 108 }, (_, n) => attempt(n, { nameKey: "watched", address: `10.1.${n}.1` }));
    assert.deepEqual(new Set(await Promise.all(wrong)), new Set([false]));
    assert.deepEqual(guessings, [{ applicationId, failures: 100 }]);
  });

  it("count in every process for recognized devices and for operators", async () => {
    const recognized = await attempts(40, { nameKey: "own", recognizedOrigin: "device" });
    assert.equal(recognized.filter((each) => each === false).length, 10);
    const marked = await attempts(40, { applicationId: undefined, nameKey: "ann", recognizedOrigin: "mark" });
    assert.equal(marked.filter((each) => each === false).length, 20, "with a mark, and in the queue of the others");
  });

  it("count as failed after a minute if their process dies", async () => {
    const given = { nameKey: "lost" };
    const guard = guards[0];
    assert.ok(guard);
    const underWay = Promise.withResolvers<boolean>();
    const begun = Promise.withResolvers<void>();
    const lost = guard.check(
      { applicationId, address: "10.0.0.1", deviceId: "device", recognizedOrigin: undefined, ...given },
      () => {
        begun.resolve();
        return underWay.promise;
      },
    );
    await begun.promise;
    now += 60_000;
    const others = await attempts(40, given);
    assert.equal(others.filter((each) => each === false).length, 9);
    underWay.resolve(true);
    await lost;
  });
});
