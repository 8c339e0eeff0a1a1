import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { assertError, openRaw, startTestApp, type TestApp } from "./harness.ts";
import { bytesHeaders, metadataOf } from "./tus.ts";

/** Regression tests for bugs that `npm run test:fuzz` has found. */

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

// spec/uploads#interrupted-uploads
describe("a resumable upload whose user is deleted while its first bytes arrive", () => {
  it("gets 401 like every call of a deleted user, and not 404", async () => {
    const { id, token } = await test.signUp("Jane");
    const connection = openRaw(test.port);
    const headers = {
      ...{ host: "test", authorization: `Service ${token}`, ...bytesHeaders },
      ...{ "upload-length": "10", "upload-metadata": metadataOf({ kind: "blob" }), "content-length": "10" },
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.write(`POST /files/uploads HTTP/1.1\r\n${lines.join("")}\r\n01234`);
    while (!(await hasUpload(id))) await setTimeout(5);
    assert.equal((await test.call("DELETE /users/me", { token })).status, 200);
    connection.write("56789");
    const answer = await connection.receive();
    connection.close();
    assert.ok(answer);
    assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });
});

async function hasUpload(userId: string): Promise<boolean> {
  const { reads } = test.app.database;
  const row = await reads.selectFrom("resumable_uploads").select("id").where("user_id", "=", userId).executeTakeFirst();
  return row !== undefined;
}
