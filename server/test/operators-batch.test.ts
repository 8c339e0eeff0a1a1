import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp } from "./harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** Returns every operation below /_/api, with a well-formed id for each parameter. */
function operatorItems(): { method: string; path: string }[] {
  return test.app.routes
    .filter(({ path }) => path.startsWith("/_/api"))
    .map(({ method, path }) => ({
      method,
      path: path
        .replace("{appid}", test.application.appid)
        .replace("{operatorId}", test.app.ids.newId("Operator"))
        .replaceAll(/\{\w+\}/g, "1"),
    }));
}

/** Spellings of the same request. */
const spellings: Readonly<Record<string, (item: { method: string; path: string }) => object>> = {
  unchanged: (item) => item,
  "in another case": ({ method, path }) => ({ method: method.toLowerCase(), path: path.toUpperCase() }),
  "with more slashes": ({ method, path }) => ({ method: ` ${method} `, path: `/${path.replaceAll("/", "//")}/` }),
  "in escapes": ({ method, path }) => ({ method, path: path.replace("api", "%61p%69") }),
};

describe("a batch that contains operators' operations: hostile.md 28", () => {
  for (const [what, spell] of Object.entries(spellings)) {
    it(`each of these items is refused in every mode (${what}), and has no effect`, async () => {
      const { token } = await test.signUp();
      const before = await stored();
      const items = operatorItems().map(spell);
      assert.ok(items.length > 10);
      for (const mode of ["independent", "sequential", "atomic"]) {
        for (const requests of mode === "independent" ? [items] : items.map((item) => [item])) {
          const { status, body, text } = await test.call("POST /batch", { token, body: { mode, requests } });
          assert.equal(status, 200, text);
          const { responses } = body.result;
          assert.equal(responses.length, requests.length);
          for (const [index, { error }] of responses.entries())
            assert.ok(["AuthFailed", "OperationNotFound"].includes(error), JSON.stringify([requests[index], error]));
        }
      }
      assert.deepEqual(await stored(), before);
    });
  }

  it("an operator's token inside an item is an ordinary parameter, and grants no access", async () => {
    const { token: operatorToken } = await test.createOperator();
    const { token } = await test.signUp();
    const authorization = `Service ${operatorToken}`;
    const path = "/_/api/applications";
    const requests = [
      { method: "GET", path, headers: { authorization }, authorization, token: operatorToken },
      { method: "GET", path, parameters: { authorization, accessToken: operatorToken, token: operatorToken } },
      { method: "GET", path: `${path}?accessToken=${operatorToken}` },
    ];
    const { body } = await test.call("POST /batch", { token, body: { requests } });
    const errors = body.result.responses.map(({ error }: { error: string }) => error);
    assert.deepEqual(errors, ["AuthFailed", "AuthFailed", "AuthFailed"]);
    const asOperator = await test.call("POST /batch", { token: operatorToken, body: { requests } });
    assertError(asOperator, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });

  it("a reference cannot lead to an operator operation", async () => {
    const { token } = await test.signUp();
    const requests = [
      { method: "GET", path: "/users/me", key: "me" },
      { method: "GET", path: "/_/api/operators/{{me.id}}" },
      { method: "DELETE", path: "/_/api/applications/{{me.id}}" },
    ];
    const { body } = await test.call("POST /batch", { token, body: { requests, references: true } });
    const errors = body.result.responses.map(({ error }: { error?: string }) => error);
    assert.equal(errors[0], undefined);
    for (const error of errors.slice(1)) assert.match(`${error}`, /^(AuthFailed|OperationNotFound|BatchItemNotRun)$/);
  });
});

/** Reads the data that operator operations could have changed. */
async function stored(): Promise<unknown> {
  const { reads } = test.app.database;
  return [
    await reads.selectFrom("operators").selectAll().orderBy("id").execute(),
    await reads.selectFrom("operator_sessions").select("digest").orderBy("digest").execute(),
    await reads.selectFrom("applications").selectAll().orderBy("application_id").execute(),
  ];
}
