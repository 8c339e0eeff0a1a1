import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { newOperator } from "./operators.new.ts";
import { insertOperator } from "./operators.store.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

const message =
  "This password was written to a log. Set another one with PATCH /_/api/operators/me (password, currentPassword), or with `rollcall operators password`.";

async function createWithFirstPassword(name: string) {
  const { row, password } = await newOperator({ name, role: "owner", mustChangePassword: true }, test.app);
  await test.app.database.write(({ queries }) => insertOperator(row, queries));
  const signedIn = await test.call("POST /_/api/sessions", { body: { name, password } });
  assert.equal(signedIn.status, 201);
  assert.equal(signedIn.body.result.operator.mustChangePassword, true);
  return { id: row.id, name, password, token: signedIn.body.result.token as string };
}

// spec/operators#first-password
describe("an operator whose first password was printed to a log", () => {
  it("may only read the own account and session, set a password and sign out, in every process", async () => {
    const { token } = await createWithFirstPassword("first");
    const allowed = new Set(["getOwnOperator", "getOperatorSession", "changeOwnOperator", "deleteOperatorSession"]);
    const routes = test.app.routes.filter(({ caller }) => caller === "operator");
    assert.ok(routes.length > 20);
    for (const { method, path, operation } of routes) {
      if (allowed.has(operation)) continue;
      for (const app of [test, other]) {
        const answer = await app.call(`${method} ${path.replaceAll(/[{}]/g, "")}`, { token });
        assertError(answer, 403, "AuthPasswordChangeRequired", 267, message);
      }
    }
    const own = await test.call("GET /_/api/operators/me", { token });
    assert.equal(own.body.result.mustChangePassword, true);
    const session = await test.call("GET /_/api/sessions/current", { token });
    assert.deepEqual([session.status, session.body.result.operator.mustChangePassword], [200, true]);
    assertResult(await test.call("DELETE /_/api/sessions/current", { token }), 200, true);
  });

  it("may perform every operation after setting another password, in the current session and in new ones", async () => {
    const { name, password: currentPassword, token } = await createWithFirstPassword("second");
    const change = (password: string) =>
      test.call("PATCH /_/api/operators/me", { token, body: { password, currentPassword } });
    const same = await change(currentPassword);
    assertError(same, 400, "ParameterOutOfRange", same.body.errorNumber, "password: must differ from the current one.");
    const changed = await change("another good password");
    assert.deepEqual([changed.status, changed.body.result.mustChangePassword], [200, undefined]);
    for (const app of [test, other]) assert.equal((await app.call("GET /_/api/applications", { token })).status, 200);
    const body = { name, password: "another good password" };
    const again = await other.call("POST /_/api/sessions", { body });
    assert.equal(again.body.result.operator.mustChangePassword, undefined);
  });

  it("may perform every operation with a password that another owner has set", async () => {
    const { id, name } = await createWithFirstPassword("third");
    const owner = await test.createOperator();
    const password = "a password of the other";
    await test.call(`PATCH /_/api/operators/${id}`, { token: owner.token, body: { password } });
    const { body } = await test.call("POST /_/api/sessions", { body: { name, password } });
    assert.equal((await test.call("GET /_/api/operators", { token: body.result.token })).status, 200);
  });
});
