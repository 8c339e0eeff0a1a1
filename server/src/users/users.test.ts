import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

describe("GET /users/me", () => {
  it("200 the profile without tokens, and nothing that the service keeps for itself", async () => {
    const user = await test.signUp("Me Myself");
    const answer = await test.call("GET /users/me", { token: user.token });
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body.result).sort(), [
      "celebMode",
      "created",
      "id",
      "lastLogin",
      "lastModified",
      "locationFuzzing",
      "userName",
    ]);
  });
});
