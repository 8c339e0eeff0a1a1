import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createTestDatabase } from "../../test/databases.ts";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

let count = 0;
const newKey = () => `key ${++count}`;
const dayMs = 86_400_000;

function call(operation: string, key: string, body?: unknown, token = user.token): Promise<Answer> {
  return test.call(operation, { token, body, headers: { "idempotency-key": key } });
}

function checkIn(key: string, comment = "once", token = user.token): Promise<Answer> {
  return call("POST /checkins", key, { location: "1,2", comment }, token);
}

async function checkinCount({ token } = user): Promise<number> {
  return (await test.call("GET /checkins?userID=me&pageSize=1000", { token })).body.result.pageResults.length;
}

/** Asserts that the answer equals the earlier one except for its request id, and is marked as a replay. */
function assertReplayed(answer: Answer, first: Answer): void {
  const { request_id } = answer.body;
  assert.notEqual(request_id, first.body.request_id);
  assert.deepEqual(answer.body, { ...first.body, request_id });
  assert.equal(answer.status, first.status);
  assert.equal(answer.headers["idempotent-replayed"], "true");
  assert.equal(first.headers["idempotent-replayed"], undefined);
}

function assertReused(answer: Answer): void {
  const message = "The idempotency key was used for another request. Use a new one.";
  assertError(answer, 409, "IdempotencyKeyReused", 1283, message);
}

// spec/idempotency#stored-responses
describe("a stored response that can no longer be opened", () => {
  it("is refused with IdempotencyKeyReused, in a batch as well, and nothing is executed twice", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const database = await createTestDatabase(folder);
    const [before, rotated] = ["the secret of the old days", "the secret of the new days"];
    const started: TestApp[] = [];
    async function start(secret: string): Promise<TestApp> {
      const app = await startTestApp({ DATABASE_URL: database.url, ROLLCALL_SECRET: secret });
      started.push(app);
      return app;
    }
    try {
      const first = await start(before);
      const { appid, appkey } = first.application;
      const { token, userName: username, password } = await first.signUp();
      const headers = { "idempotency-key": "kept" };
      const body = { location: "1,2", comment: "once" };
      assert.equal((await first.call("POST /checkins", { token, body, headers })).status, 201);

      const second = await start(rotated);
      const device = await second.call("POST /devices", { body: { appid, appkey, platform: "test" } });
      const login = await second.call("POST /users/login", {
        token: device.body.result.accessToken,
        body: { username, password },
      });
      const again = login.body.result.accessToken;
      const refused = await second.call("POST /checkins", { token: again, body, headers });
      const message =
        "This idempotency key was used before, and its reply cannot be read any more. Read what became of that call, then use a new key.";
      assertError(refused, 409, "IdempotencyKeyReused", 1283, message);
      assert.equal(refused.headers["retry-after"], undefined);
      const calls = [{ key: "a", method: "POST", path: "/checkins", parameters: body, idempotencyKey: "kept" }];
      const batch = await second.call("POST /batch", { token: again, body: { requests: calls } });
      assert.match(batch.text, /"error":"IdempotencyKeyReused"/);
      const listed = await second.call("GET /checkins?userID=me", { token: again });
      assert.equal(listed.body.result.pageResults.length, 1);
    } finally {
      for (const app of started) await app.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("Idempotency-Key: spec/idempotency#replays", () => {
  it("gives a repeat the first response, and nothing is executed twice", async () => {
    const me = await test.signUp();
    const key = newKey();
    const first = await checkIn(key, "once", me.token);
    assert.equal(first.status, 201);
    for (let n = 0; n < 3; n += 1) assertReplayed(await checkIn(key, "once", me.token), first);
    assert.equal(await checkinCount(me), 1);
    assert.equal((await checkIn(newKey(), "once", me.token)).headers["idempotent-replayed"], undefined);
    assert.equal(await checkinCount(me), 2);
  });

  it("executes one of many concurrent calls, and all get its response", async () => {
    const me = await test.signUp();
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 30 }, () => checkIn(key, "at once", me.token)));
    assert.equal(await checkinCount(me), 1);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ body }) => body.result.id)).size, 1);
    assert.equal(answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined).length, 1);
  });

  it("works across processes", async (t) => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    const me = await test.signUp();
    for (let n = 0; n < 5; n += 1) {
      const headers = { "idempotency-key": newKey() };
      const options = { token: me.token, body: { location: "1,2" }, headers };
      const apps = [test, other, test, other];
      const answers = await Promise.all(apps.map((app) => app.call("POST /checkins", options)));
      assert.equal(
        new Set(answers.map(({ body }) => body.result?.id)).size,
        1,
        JSON.stringify(answers.map((a) => a.body)),
      );
    }
    assert.equal(await checkinCount(me), 5);
  });

  it("works for every verb: PATCH, DELETE, and a sign-up whose response has a token", async () => {
    const { result } = (await checkIn(newKey())).body;
    for (const [operation, body] of [
      [`PATCH /checkins/${result.id}`, { comment: "new" }],
      [`DELETE /checkins/${result.id}`, undefined],
      ["POST /users", { username: "Keyed", password: "pass word" }],
      ["POST /users/login", { username: "Keyed", password: "pass word" }],
      ["POST /users/me/identities/crm", { identityId: "4711" }],
    ] as const) {
      const key = newKey();
      const first = await call(operation, key, body);
      assert.ok(first.status < 300, operation);
      assertReplayed(await call(operation, key, body), first);
    }
    const kept = await test.app.database.reads.selectFrom("kept_replies").select("reply").execute();
    assert.ok(kept.length > 5);
    const open = kept.map(({ reply }) => Buffer.from(reply, "base64url").toString("latin1")).join();
    assert.ok(!open.includes("accessToken") && !open.includes("comment"), "stored responses are sealed");
  });

  it("stores refusals as well: 400, 403 and 404", async () => {
    for (const [operation, body, status] of [
      ["POST /checkins", { location: "91,0" }, 400],
      ["POST /checkins", "{", 400],
      ["POST /users/login", { username: "Keyed", password: "wrong" }, 403],
      [`DELETE /checkins/${test.app.ids.newId("Checkin")}`, undefined, 404],
    ] as const) {
      const key = newKey();
      const first = await call(operation, key, body);
      assert.equal(first.status, status);
      assertReplayed(await call(operation, key, body), first);
    }
  });

  it("does not store 401 and 5xx", async () => {
    const key = newKey();
    assert.equal((await checkIn(key, "once", "bad token")).status, 401);
    assert.equal((await checkIn(key)).status, 201);
  });

  it("does not store 429: after too many guesses, a client can sign in later with the same key", async () => {
    const { userName, password } = await test.signUp();
    const token = await test.registerDevice();
    const logIn = (text: string, key: string) =>
      call("POST /users/login", key, { username: userName, password: text }, token);
    for (let n = 0; n < 10; n += 1) assert.equal((await logIn(`guess ${n}`, newKey())).status, 403);
    const key = newKey();
    assert.equal((await logIn(password, key)).status, 429);
    test.advance(3_600_000);
    assert.equal((await logIn(password, key)).status, 200);
  });

  it("does not store 503: a call that a full queue refused succeeds later with the same key", async (t) => {
    const busy = await startTestApp({
      PASSWORD_HASH_THREADS: "1",
      PASSWORD_HASH_QUEUE_MAX: "1",
      PASSWORD_HASH_MEMORY_KIB: "19456",
    });
    t.after(() => busy.close());
    const token = await busy.registerDevice();
    async function signUp(name: string): Promise<Answer> {
      const body = { username: name, password: "pass word" };
      return busy.call("POST /users", { token, body, headers: { "idempotency-key": name } });
    }
    const names = Array.from({ length: 20 }, (_, n) => `user number ${n}`);
    const answers = await Promise.all(names.map(signUp));
    assert.ok(answers.some(({ status }) => status === 503));
    for (const [index, name] of names.entries()) {
      const again = await signUp(name);
      assert.equal(again.status, 200);
      const isReplayed = again.headers["idempotent-replayed"] === "true";
      assert.equal(isReplayed, answers[index]?.status === 200);
    }
  });

  it("answers 409 IdempotencyKeyReused for another body, path or verb, and executes nothing", async () => {
    const key = newKey();
    const { id } = (await checkIn(key)).body.result;
    const counted = (await checkinCount()) + 2;
    assertReused(await checkIn(key, "other"));
    assertReused(await call("POST /users", key, { location: "1,2", comment: "once" }));
    assertReused(await call(`PATCH /checkins/${id}`, key, { location: "1,2", comment: "once" }));
    assertReused(await call(`DELETE /checkins/${id}`, key));
    assertReused(await call("POST /checkins", key, "{"));
    const [one, other, changing] = [await checkIn(newKey()), await checkIn(newKey()), newKey()];
    const change = { comment: "changed" };
    assert.equal((await call(`PATCH /checkins/${one.body.result.id}`, changing, change)).status, 200);
    assertReused(await call(`PATCH /checkins/${other.body.result.id}`, changing, change));
    assert.equal(await checkinCount(), counted);
    const body = '{ "comment": "once",\n"location": "1,2" }';
    assert.equal((await call("POST /checkins", key, body)).status, 201, "the same body, formatted differently");
  });

  it("distinguishes numbers that JSON.stringify cannot write from strings and from null", async () => {
    const put = async (key: string, value: string) => {
      const headers = { "idempotency-key": key };
      const options = { token: user.token, headers, body: `{"value":${value}}` };
      const { status, body } = await test.call("PUT /metadata/me/number", options);
      return body.error ?? status;
    };
    const [long, large] = [newKey(), newKey()];
    assert.equal(await put(long, "12345678901234567890"), 201);
    for (const other of ['"12345678901234567890n"', '"12345678901234567890"', "12345678901234567891"]) {
      assert.equal(await put(long, other), "IdempotencyKeyReused", other);
    }
    assert.equal(await put(long, "12345678901234567890"), 201);
    assert.equal(await put(large, "1e400"), "ParameterOutOfRange");
    for (const other of ["null", "-1e400"]) assert.equal(await put(large, other), "IdempotencyKeyReused", other);
  });

  it("belongs to the caller: another user, device or application has its own keys (hostile.md 14)", async () => {
    const key = newKey();
    const { id } = (await checkIn(key)).body.result;
    const other = await test.signUp();
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const { token } of [other, stranger]) {
      const answer = await checkIn(key, "once", token);
      assert.equal(answer.headers["idempotent-replayed"], undefined);
      assert.notEqual(answer.body.result.id, id);
    }
    const body = { username: user.userName, password: user.password };
    const again = (await test.call("POST /users/login", { token: other.deviceToken, body })).body.result;
    assert.equal((await checkIn(key, "once", again.accessToken)).body.result.id, id, "the user's, on any device");
    const devices = [user.deviceToken, await test.registerDevice()];
    const versions = await Promise.all(
      devices.map((token, n) => call("PATCH /devices/current", key, { appVersion: `${n}` }, token)),
    );
    assert.deepEqual(
      versions.map(({ body }) => body.result.appVersion),
      ["0", "1"],
    );
  });

  // spec/idempotency#keys
  it("has 1 to 255 arbitrary characters, and is ignored by POST /devices and GET", async () => {
    for (const [key, message] of [
      ["", "Idempotency-Key must have at least 1 characters."],
      ["x".repeat(256), "Idempotency-Key must have at most 255 characters."],
    ] as const) {
      assertError(await checkIn(key), 400, "ParameterOutOfRange", 514, message);
      const headers = { "idempotency-key": key };
      assert.equal((await test.call("GET /users/me", { token: user.token, headers })).status, 200);
      const body = { ...test.application, platform: "test" };
      assert.equal((await test.call("POST /devices", { body, headers })).status, 201);
    }
    for (const key of ["x".repeat(255), "__proto__", "constructor", "%00' or 1=1", "\u00fc\u00e9"]) {
      const first = await checkIn(key);
      assertReplayed(await checkIn(key), first);
    }
    const headers = { "idempotency-key": "same" };
    for (const path of ["GET /users/me", "GET /checkins"]) {
      const answer = await test.call(path, { token: user.token, headers });
      assert.equal(answer.headers["idempotent-replayed"], undefined);
    }
  });

  it("can be used again after 24 hours, and maintenance deletes expired keys in bounded steps", async () => {
    const me = await test.signUp();
    const key = newKey();
    const first = await checkIn(key, "once", me.token);
    test.advance(dayMs - 1);
    assertReplayed(await checkIn(key, "once", me.token), first);
    test.advance(1);
    const second = await checkIn(key, "another", me.token);
    assert.equal(second.status, 201);
    assert.notEqual(second.body.result.id, first.body.result.id);
    assertReplayed(await checkIn(key, "another", me.token), second);
    const keptRows = async () => {
      const rows = test.app.database.reads.selectFrom("kept_replies").select("key").where("user_id", "=", me.id);
      return (await rows.execute()).length;
    };
    assert.equal(await keptRows(), 1);
    test.advance(dayMs);
    await maintain(test.app);
    assert.equal(await keptRows(), 0);
  });

  it("is erased with its user", async () => {
    const me = await test.signUp();
    await checkIn(newKey(), "once", me.token);
    assert.equal((await call("DELETE /users/me", newKey(), undefined, me.token)).status, 200);
    await maintain(test.app);
    const rows = await test.app.database.reads.selectFrom("kept_replies").select("user_id").execute();
    assert.ok(rows.every(({ user_id }) => user_id !== me.id));
  });

  it("does not replay a logout: its token is invalid, which is checked first", async () => {
    const me = await test.signUp();
    const key = newKey();
    assert.equal((await call("POST /users/me/logout", key, {}, me.token)).status, 200);
    assert.equal((await call("POST /users/me/logout", key, {}, me.token)).status, 401);
  });
});

// spec/idempotency#keyed-batches
describe("idempotencyKey of batch items, and of a batch", () => {
  // biome-ignore lint/suspicious/noExplicitAny: envelopes of every shape
  async function run(requests: unknown, options: object = {}, token = user.token): Promise<any[]> {
    const answer = await test.call("POST /batch", { token, body: { requests, ...options } });
    assert.equal(answer.status, 200);
    return answer.body.result.responses;
  }
  const item = (idempotencyKey: unknown, comment = "once") => ({
    method: "POST",
    path: "/checkins",
    parameters: { location: "1,2", comment },
    idempotencyKey,
  });

  it("runs an item once, whether it is repeated in the batch, in a later one, or as a single call", async () => {
    for (const mode of ["independent", "sequential", "atomic"]) {
      const me = await test.signUp();
      const key = newKey();
      const [first, second, third] = await run([item(key), item(key), item(null)], { mode }, me.token);
      assert.deepEqual([first.status, second.status, third.status], [201, 201, 201]);
      assert.deepEqual([second.result, second.request_id === first.request_id], [first.result, false]);
      const alone = await checkIn(key, "once", me.token);
      assert.deepEqual([alone.body.result, alone.headers["idempotent-replayed"]], [first.result, "true"]);
      const again = await run([item(key), item(key, "other")], {}, me.token);
      assert.deepEqual([again[0].result, again[1].error], [first.result, "IdempotencyKeyReused"]);
      assert.equal(await checkinCount(me), 2);
    }
  });

  it("runs a complete batch once in every mode, and its items retain their request ids", async () => {
    for (const mode of ["independent", "sequential", "atomic"]) {
      const me = await test.signUp();
      const key = newKey();
      const signUp = { method: "POST", path: "/users", parameters: { username: `in ${mode}`, password: "pass word" } };
      const requests = [item("inner"), signUp, item(undefined), { method: "GET", path: "/checkins" }];
      const body = { requests, mode };
      const first = await call("POST /batch", key, body, me.token);
      const statuses = first.body.result.responses.map(({ status }: { status: number }) => status);
      assert.deepEqual(statuses, [201, 200, 201, 200]);
      assertReplayed(await call("POST /batch", key, body, me.token), first);
      assert.equal(await checkinCount(me), 2);
    }
  });

  it("stores only the response of a failed atomic batch", async () => {
    const me = await test.signUp();
    const key = newKey();
    const body = { requests: [item("inner"), { method: "GET", path: "/nowhere" }], mode: "atomic" };
    const first = await call("POST /batch", key, body, me.token);
    assert.deepEqual(
      first.body.result.responses.map(({ status }: { status: number }) => status),
      [424, 404],
    );
    assertReplayed(await call("POST /batch", key, body, me.token), first);
    assert.equal(await checkinCount(me), 0);
    const [free] = await run([item("inner", "the key of the item is free")], {}, me.token);
    assert.equal(free.status, 201);
  });

  it("refuses only the item whose key has an invalid length", async () => {
    const responses = await run([item("x".repeat(256)), item(""), item({}), item(7), item("a\0b")]);
    assert.deepEqual(
      responses.map(({ error, status }) => error ?? status),
      ["ParameterOutOfRange", "ParameterOutOfRange", "ParameterIncorrectFormat", 201, "ParameterIncorrectFormat"],
    );
  });
});
