import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import { createSealer } from "../lib/seal.ts";
import { openReply } from "./idempotency.ts";

const hourMs = 3_600_000;
const secret = "a secret that the test knows";
const callerBytes = 1_048_576;
const callerKeys = 40;

let test: TestApp;
before(async () => {
  test = await startTestApp({
    ROLLCALL_SECRET: secret,
    IDEMPOTENCY_BYTES_PER_CALLER: `${callerBytes}`,
    IDEMPOTENCY_KEYS_PER_CALLER: `${callerKeys}`,
  });
});
after(() => test.close());

function checkIn(key: string, { token }: TestUser, app = test): Promise<Answer> {
  return app.call("POST /checkins", { token, body: { location: "1,2" }, headers: { "idempotency-key": key } });
}

/**
 * Creates check-ins under successive keys.
 * @returns how many were executed
 */
async function storeUntilRefused(user: TestUser, app: TestApp): Promise<number> {
  for (let n = 0; ; n += 1) {
    const { status } = await checkIn(`k ${n}`, user, app);
    if (status !== 201) {
      assert.equal(status, 429);
      return n;
    }
  }
}

async function checkinCount({ token }: TestUser): Promise<number> {
  return (await test.call("GET /checkins?userID=me&pageSize=1000", { token })).body.result.pageResults.length;
}

interface Stored {
  readonly bytes: number;
  readonly keys: number;
}

async function storedBy({ id }: TestUser): Promise<Stored> {
  const rows = await test.app.database.reads
    .selectFrom("kept_replies")
    .select(["key", "reply"])
    .where("user_id", "=", id)
    .execute();
  return { bytes: rows.reduce((sum, { key, reply }) => sum + key.length + reply.length, 0), keys: rows.length };
}

/**
 * Stores eight incompressible values of 30 KB, and returns a batch call that creates a check-in and reads all of them.
 */
async function attackerWithBatch(): Promise<{ attacker: TestUser; send: (key: string) => Promise<Answer> }> {
  const attacker = await test.signUp();
  const { token } = attacker;
  for (let n = 0; n < 8; n += 1) {
    const value = randomBytes(22_000).toString("base64");
    assert.equal((await test.call(`PUT /metadata/me/v${n}`, { token, body: { value } })).status, 201);
  }
  const reads = Array.from({ length: 8 }, (_, n) => ({ method: "GET", path: `/metadata/me/v${n}` }));
  const requests = [{ method: "POST", path: "/checkins", parameters: { location: "1,2" } }, ...reads];
  const send = (key: string) =>
    test.call("POST /batch", { token, body: { requests }, headers: { "idempotency-key": key } });
  return { attacker, send };
}

function assertFull(answer: Answer, rule: string): void {
  assertError(answer, 429, "RateLimitExceeded", 1282, `${rule} The call was not carried out.`);
}

const bytesRule =
  "The caller may have at most 1048576 bytes of stored responses of idempotency keys (IDEMPOTENCY_BYTES_PER_CALLER).";
const keysRule = "The caller may have at most 40 idempotency keys in a day (IDEMPOTENCY_KEYS_PER_CALLER).";

// spec/idempotency#storage-bounds
describe("stored responses of one caller: hostile.md 37", () => {
  it("stay within the limit with keyed batches of large reads; a refused batch has no effect, and repeats and other callers are unaffected", async () => {
    const { attacker, send } = await attackerWithBatch();
    const answers: Answer[] = [];
    for (let n = 0; n < 30; n += 1) answers.push(await send(`attack ${n}`));
    const carriedOut = answers.filter(({ status }) => status === 200).length;
    assert.ok(carriedOut >= 3 && carriedOut < 10, `${carriedOut}`);
    for (const answer of answers.slice(carriedOut)) assertFull(answer, bytesRule);
    assert.equal(await checkinCount(attacker), carriedOut);
    const stored = await storedBy(attacker);
    assert.ok(stored.bytes <= callerBytes && stored.bytes > callerBytes / 2, `${stored.bytes}`);
    assert.equal(stored.keys, carriedOut);

    const retryMs = Number(answers.at(-1)?.headers["retry-after"]) * 1_000;
    assert.ok(retryMs > 24 * hourMs - 1_000 && retryMs <= 25 * hourMs, `${retryMs}`);
    const again = await send("attack 0");
    assert.equal(again.headers["idempotent-replayed"], "true");
    assert.deepEqual(again.body.result, answers[0]?.body.result);
    const others = [await test.signUp(), await test.signUp("Stranger", await test.createApplication())];
    for (const other of others) assert.equal((await checkIn("k", other)).status, 201);
    assert.equal((await test.call("POST /checkins", { token: attacker.token, body: { location: "1,2" } })).status, 201);
  });

  it("have a Retry-After until space is released; maintenance deletes the responses and their counts", async () => {
    const user = await test.signUp();
    for (let n = 0; n < callerKeys; n += 1) assert.equal((await checkIn(`k ${n}`, user)).status, 201);
    const full = await checkIn("one more", user);
    assertFull(full, keysRule);
    test.advance(Number(full.headers["retry-after"]) * 1_000 - 1_000);
    assertFull(await checkIn("one more", user), keysRule);
    test.advance(1_000);
    assert.equal((await checkIn("one more", user)).status, 201);
    test.advance(26 * hourMs);
    await maintain(test.app);
    assert.deepEqual(await storedBy(user), { bytes: 0, keys: 0 });
    const counts = test.app.database.reads.selectFrom("idempotency_usage").selectAll().where("user_id", "=", user.id);
    assert.equal((await counts.execute()).length, 0);
  });

  it("refuse items of a batch one by one, and still answer items with stored keys", async () => {
    for (const mode of ["independent", "sequential", "atomic"]) {
      const user = await test.signUp();
      for (let n = 0; n < callerKeys - 2; n += 1) await checkIn(`k ${n}`, user);
      const keys = ["k 0", "a", "b", "c", "k 1"];
      const requests = keys.map((idempotencyKey) => ({
        method: "POST",
        path: "/checkins",
        parameters: { location: "1,2" },
        idempotencyKey,
      }));
      const { body } = await test.call("POST /batch", { token: user.token, body: { requests, mode } });
      const statuses = body.result.responses.map(({ status }: { status: number }) => status);
      const expected = {
        independent: [201, 201, 201, 429, 201],
        sequential: [201, 201, 201, 429, 424],
        atomic: [424, 424, 424, 429, 424],
      };
      assert.deepEqual(statuses, expected[mode as keyof typeof expected], mode);
      const carriedOut = mode === "atomic" ? callerKeys - 2 : callerKeys;
      assert.equal(await checkinCount(user), carriedOut);
      assert.equal((await storedBy(user)).keys, carriedOut);
    }
  });

  it("admit exactly as many of many concurrent calls in two processes as the limit allows", async (t) => {
    const limit = { ROLLCALL_SECRET: secret, IDEMPOTENCY_KEYS_PER_CALLER: `${callerKeys}` };
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl, ...limit });
    t.after(() => other.close());
    const user = await test.signUp();
    other.advance(test.now() - other.now());
    for (let n = 0; n < callerKeys - 5; n += 1) await checkIn(`k ${n}`, user);
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) => checkIn(`at once ${n}`, user, n % 2 === 0 ? test : other)),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    assert.deepEqual([count(201), count(429)], [5, 19], JSON.stringify(answers.map(({ body }) => body)));
    assert.equal(await checkinCount(user), callerKeys);
    assert.equal((await storedBy(user)).keys, callerKeys);
  });

  it("have a separate limit for a device, and no counts remain of a deleted user", async () => {
    const user = await test.signUp();
    for (let n = 0; n < callerKeys; n += 1) await checkIn(`k ${n}`, user);
    const headers = { "idempotency-key": "of the device" };
    const patch = (token: string) => test.call("PATCH /devices/current", { token, body: { appVersion: "1" }, headers });
    assertFull(await patch(user.token), keysRule);
    assert.equal((await patch(user.deviceToken)).status, 200);
    assert.equal((await test.call("DELETE /users/me", { token: user.token })).status, 200);
    await maintain(test.app);
    const rows = await test.app.database.reads.selectFrom("idempotency_usage").select("user_id").execute();
    assert.ok(rows.every(({ user_id }) => user_id !== user.id));
  });
});

// spec/idempotency#storage-bounds
describe("stored responses of one application: hostile.md 37", () => {
  it("are bounded over all its callers, and no other application is refused", async (t) => {
    const limits = {
      IDEMPOTENCY_KEYS_PER_APPLICATION: "30",
      IDEMPOTENCY_BYTES_PER_APPLICATION: "1000000",
      IDEMPOTENCY_KEYS_PER_CALLER: "10",
    };
    const small = await startTestApp({ ROLLCALL_SECRET: secret, ...limits });
    t.after(() => small.close());
    const rule = "The application may have at most 30 idempotency keys in a day (IDEMPOTENCY_KEYS_PER_APPLICATION).";
    const users: TestUser[] = [];
    const stored: number[] = [];
    for (let sum = 0; sum < 30; sum += stored.at(-1) ?? 0) {
      const user = await small.signUp();
      users.push(user);
      stored.push(await storeUntilRefused(user, small));
    }
    assert.deepEqual(stored, [10, 8, 5, 3, 2, 1, 1]);
    for (const user of users.slice(1)) assertFull(await checkIn("one more", user, small), rule);
    const stranger = await small.signUp("Stranger", await small.createApplication());
    assert.equal((await checkIn("k", stranger, small)).status, 201);
    const last = users.at(-1);
    assert.ok(last !== undefined);
    assert.equal((await checkIn("k 0", last, small)).headers["idempotent-replayed"], "true");

    const other = await startTestApp({ DATABASE_URL: small.config.databaseUrl, ROLLCALL_SECRET: secret, ...limits });
    t.after(() => other.close());
    let answer = await checkIn("in another process 0", last, other);
    for (let n = 1; answer.status === 201 && n < 20; n += 1) {
      await sleep(50); // the count has to finish first
      answer = await checkIn(`in another process ${n}`, last, other);
    }
    assertFull(answer, rule);
    const retrySeconds = Number(answer.headers["retry-after"]);
    assert.ok(retrySeconds > 86_400 - 60 && retrySeconds <= 25 * 3_600, `${retrySeconds}`);
  });
});

describe("the share of one caller: hostile.md 37", () => {
  const shareRule = (noun: string, variable: string) =>
    `The caller has its share of the room that the application has left for ${noun} (${variable}).`;

  it("is limited when it is used up, so that callers that store little can still store", async (t) => {
    const keys = { IDEMPOTENCY_KEYS_PER_CALLER: "20", IDEMPOTENCY_KEYS_PER_APPLICATION: "100" };
    const small = await startTestApp({ ROLLCALL_SECRET: secret, ...keys });
    t.after(() => small.close());
    const attackers = await Promise.all(Array.from({ length: 8 }, () => small.signUp()));
    const stored: number[] = [];
    for (const attacker of attackers) stored.push(await storeUntilRefused(attacker, small));
    assert.deepEqual(stored.slice(0, 3), [20, 20, 18]);
    const third = attackers[2];
    assert.ok(third !== undefined);
    const rule = shareRule("idempotency keys", "IDEMPOTENCY_KEYS_PER_APPLICATION");
    assertFull(await checkIn("one more", third, small), rule);
    assert.equal((await checkIn("k 0", third, small)).headers["idempotent-replayed"], "true");
    const others = [await small.signUp(), await small.signUp()];
    for (const other of others) assert.equal((await checkIn("k", other, small)).status, 201);
  });

  it("is computed for bytes as for keys", async (t) => {
    const bytes = { IDEMPOTENCY_BYTES_PER_CALLER: "20000", IDEMPOTENCY_BYTES_PER_APPLICATION: "40000" };
    const small = await startTestApp({ ROLLCALL_SECRET: secret, ...bytes });
    t.after(() => small.close());
    const attackers = [await small.signUp(), await small.signUp(), await small.signUp()];
    for (const attacker of attackers) await storeUntilRefused(attacker, small);
    const second = attackers[1];
    assert.ok(second !== undefined);
    const rule = shareRule("stored responses of idempotency keys", "IDEMPOTENCY_BYTES_PER_APPLICATION");
    assertFull(await checkIn("one more", second, small), rule);
    assert.equal((await checkIn("k", await small.signUp(), small)).status, 201);
  });
});

// spec/idempotency#stored-responses
describe("the format of a stored response", () => {
  it("compresses a long response, and an uncompressed one from an earlier version can still be read", async () => {
    const user = await test.signUp();
    const { token, id } = user;
    const value = "where we were ".repeat(2_000);
    assert.equal((await test.call("PUT /metadata/me/long", { token, body: { value } })).status, 201);
    const requests = [{ method: "GET", path: "/metadata/me/long" }];
    const headers = { "idempotency-key": "batch" };
    const batch = () => test.call("POST /batch", { token, body: { requests }, headers });
    async function assertReplayed(first: Answer): Promise<void> {
      const again = await batch();
      assert.equal(again.headers["idempotent-replayed"], "true");
      assert.ok(JSON.stringify(again.body.result) === JSON.stringify(first.body.result));
    }

    const first = await batch();
    assert.ok(first.text.length > 28_000);
    const { bytes } = await storedBy(user);
    assert.ok(bytes < 2_000, `${bytes}`);
    await assertReplayed(first);

    const context = JSON.stringify([test.application.appid, id, "", "batch"]);
    const sealer = createSealer([secret], "kept reply");
    await test.app.database.write(async ({ queries }) => {
      const rows = queries.selectFrom("kept_replies").select("reply").where("user_id", "=", id);
      const plain = await openReply((await rows.executeTakeFirstOrThrow()).reply, context, sealer);
      assert.ok(plain !== undefined);
      const reply = sealer.seal(plain, context);
      await queries.updateTable("kept_replies").set({ reply }).where("user_id", "=", id).execute();
    });
    assert.ok((await storedBy(user)).bytes > 28_000);
    await assertReplayed(first);
  });
});
