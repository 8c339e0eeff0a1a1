import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { formatDate } from "../lib/dates.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  user = await test.signUp();
});
after(() => test.close());

function increment(path: string, body?: object | string, token = user.token): Promise<Answer> {
  return test.call(`POST /metadata/${path}/increment`, { token, ...(body !== undefined && { body }) });
}

function put(path: string, body: object | string): Promise<Answer> {
  return test.call(`PUT /metadata/${path}`, { token: user.token, body });
}

describe("POST /metadata/{id}/{key}/increment: spec/metadata#increment-a-value", () => {
  it("answers 200 with the item; a missing key starts from 0, and delta is 1 by default and may be a string or null", async () => {
    const created = test.now();
    const item = (value: number) => ({
      key: "n",
      value,
      visibility: "User",
      created: formatDate(created),
      lastModified: formatDate(test.now()),
    });
    assertResult(await increment("me/n"), 200, item(1));
    test.advance(1_000);
    assertResult(await increment("me/n", { delta: 2.5 }), 200, item(3.5));
    assertResult(await increment("me/n", { Delta: "-1e1" }), 200, item(-6.5));
    assertResult(await increment("me/n", { delta: null }), 200, item(-5.5));
    assertResult(await test.call("GET /metadata/me/n", { token: user.token }), 200, item(-5.5));
    for (const delta of ["x", [], true, "1,5"]) {
      const answer = await increment("me/n", { delta });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "delta must be a number.");
    }
    const infinite = await increment("me/n", '{"delta":1e400}');
    assertError(infinite, 400, "ParameterOutOfRange", 514, "delta must be a finite number.");
    assertResult(await increment("me/n", { delta: 5.5 }), 200, item(0));
  });

  it("counts separately for each slot, and increments the App slot for a device token", async () => {
    for (const value of [1, 2]) {
      const shared = await increment("app/visits", { visibility: "App" }, user.deviceToken);
      assert.deepEqual([shared.status, shared.body.result.value, shared.body.result.visibility], [200, value, "App"]);
    }
    assert.equal((await increment("app/visits")).body.result.value, 1);
    const own = await increment("app/visits", {}, user.deviceToken);
    assertError(own, 403, "AuthUserAccessTokenRequired", 263);
  });

  it("preserves the location, which a PUT without a location clears", async () => {
    await put("me/located", { value: 1, location: "1,2" });
    const { body } = await increment("me/located", { location: "3,4" });
    assert.deepEqual([body.result.value, body.result.location], [2, { lat: 1, lng: 2 }]);
  });

  it("answers 400 ParameterIncorrectFormat for a value that is not a number, and the value stays unchanged", async () => {
    for (const json of ['"5"', "true", "[1]", '{"number":1}', '""']) {
      await put("me/text", `{"value":${json}}`);
      const answer = await increment("me/text");
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "The value of text is not a number.");
      const { text } = await test.call("GET /metadata/me/text", { token: user.token });
      assert.ok(text.includes(`"value":${json},`));
    }
    await test.call("PUT /metadata/me", { token: user.token, body: { values: { text: null } } });
    assert.equal((await increment("me/text")).body.error, "ParameterIncorrectFormat");
  });

  it("continues as a double for an integer with more digits than a double holds, and never returns -0", async () => {
    await put("me/long", '{"value":9007199254740993}');
    assert.match((await increment("me/long", { delta: 0 })).text, /"value":9007199254740992,/);
    await put("me/zero", '{"value":-0}');
    assert.match((await increment("me/zero", '{"delta":-0}')).text, /"value":0,/);
  });

  it("answers 400 ParameterOutOfRange for a sum beyond a double; the value and concurrent increments are unaffected", async () => {
    await put("me/large", { value: 1.7e308 });
    const answers = await Promise.all([
      increment("me/before"),
      increment("me/large", { delta: 1.7e308 }),
      increment("me/after"),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 200],
    );
    const [, refused] = answers;
    assert.ok(refused);
    assertError(refused, 400, "ParameterOutOfRange", 514, "delta would raise the number beyond 1.8e308.");
    assert.equal((await increment("me/large", { delta: 0 })).body.result.value, 1.7e308);
  });
});

/** Sends increments over a few persistent connections, spread over some keys. @returns the answered values */
async function incrementMany(ports: readonly number[], keys: readonly string[], count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 24 });
  const headers = { authorization: `Service ${user.token}`, "content-type": "application/json" };
  let sent = 0;
  const values: number[] = [];

  function one(n: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const path = `/metadata/app/${encodeURIComponent(`${keys[n % keys.length]}`)}/increment`;
    const call = request({ agent, port: ports[n % ports.length], method: "POST", path, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("end", () => {
        const { status, result } = JSON.parse(Buffer.concat(chunks).toString());
        if (status === 200) values.push(result.value);
        else reject(new Error(`${status}`));
        resolve();
      });
    });
    call.on("error", reject);
    call.end('{"visibility":"App"}');
    return promise;
  }
  async function work(): Promise<void> {
    while (sent < count) await one(sent++);
  }
  await Promise.all(Array.from({ length: 48 }, work));
  agent.destroy();
  return values;
}

describe("concurrent increments", () => {
  it("ten thousand increments from two servers on one database add up, and no two return the same value", async () => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl, RATE_LIMITS: "off" });
    const keys = Array.from({ length: 50 }, (_, n) => `count ${n}`);
    const count = 10_000;
    try {
      const values = await incrementMany([test.port, other.port], keys, count);
      const expected = Array.from({ length: count }, (_, n) => Math.floor(n / keys.length) + 1);
      assert.deepEqual(
        values.toSorted((a, b) => a - b),
        expected,
      );
      for (const key of keys) {
        const { body } = await test.call(`GET /metadata/app/${encodeURIComponent(key)}?visibility=App`, {
          token: user.deviceToken,
        });
        assert.equal(body.result.value, count / keys.length);
      }
    } finally {
      await other.close();
    }
  });
});
