import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

describe("concurrent calls with one key", () => {
  for (const [name, of] of [
    ["one process", () => [test, test, test, test]],
    ["two processes", () => [test, other, test, other]],
  ] as const) {
    it(`all get the response of the one call that can succeed (${name})`, async () => {
      for (let round = 0; round < 4; round += 1) {
        const me = await test.signUp();
        const calls: [string, string, object | undefined][] = [
          ["PATCH /users/me", me.token, { password: "another horse", currentPassword: me.password }],
          ["POST /users", me.deviceToken, { username: `${me.userName} again`, password: "pass word" }],
        ];
        for (const [operation, token, body] of calls) {
          const options = { token, body, headers: { "idempotency-key": operation } };
          const answers = await Promise.all(of().map((app) => app.call(operation, options)));
          assert.deepEqual(
            answers.map(({ status, body }) => body.error ?? status),
            [200, 200, 200, 200],
            operation,
          );
          assert.equal(new Set(answers.map(({ body }) => JSON.stringify(body.result))).size, 1);
        }
      }
    });

    it(`run an item of many concurrent batches once, in every mode (${name})`, async () => {
      const me = await test.signUp();
      const at = { location: "1,2" };
      const item = (key: string) => ({ method: "POST", path: "/checkins", parameters: at, idempotencyKey: key });
      for (let round = 0; round < 4; round += 1) {
        const modes = ["independent", "atomic", "sequential", "atomic"];
        const answers = await Promise.all(
          of().map((app, index) => {
            const keys = [`${name} ${round} a`, `${name} ${round} b`, `${name} ${round} c`];
            const requests = (index % 2 === 0 ? keys : keys.toReversed()).map(item);
            return app.call("POST /batch", { token: me.token, body: { requests, mode: modes[index] } });
          }),
        );
        const responses = answers.map(({ body }, index) =>
          index % 2 === 0 ? body.result.responses : body.result.responses.toReversed(),
        );
        for (const position of [0, 1, 2]) {
          const made = responses.map((each) => each[position]).map(({ result, error }) => result?.id ?? error);
          assert.equal(new Set(made).size, 1, JSON.stringify(made));
        }
      }
      const list = await test.call("GET /checkins?userID=me&pageSize=1000", { token: me.token });
      assert.equal(list.body.result.pageResults.length, 12);
    });
  }
});

describe("keys of deleted users", () => {
  it("are deleted with their stored responses, from which the device gets no working token", async () => {
    const me = await test.signUp();
    const headers = { "idempotency-key": "k" };
    const body = { username: me.userName, password: me.password };
    const first = await test.call("POST /users/login", { token: me.deviceToken, body, headers });
    const { accessToken } = first.body.result;
    await test.call("POST /checkins", { token: accessToken, body: { location: "1,2" }, headers });
    await test.call("DELETE /users/me", { token: accessToken, headers: { "idempotency-key": "delete" } });
    const kept = await test.app.database.reads
      .selectFrom("kept_replies")
      .select(["key"])
      .where("user_id", "=", me.id)
      .execute();
    assert.equal(kept.length, 0);
    const again = await test.call("POST /users/login", { token: me.deviceToken, body, headers });
    if (again.status === 200) {
      assert.equal((await test.call("GET /users/me", { token: again.body.result.accessToken })).status, 401);
    }
  });
});
