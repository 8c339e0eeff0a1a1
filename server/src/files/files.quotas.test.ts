import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, openRaw, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, postForm, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { updateApplicationDeleted } from "../applications/applications.store.ts";
import { type Quotas, updateApplicationSettings } from "../tenancy/application-settings.ts";
import { eraseUser } from "../users/users.erasure.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** Creates an application with these quotas and one user. */
async function withQuotas(
  quotas: Partial<Quotas>,
): Promise<{ appid: string; jane: TestUser; signUp(): Promise<TestUser> }> {
  const application = await test.createApplication();
  const { appid } = application;
  await test.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc: {}, quotas }, queries));
  let count = 0;
  const signUp = () => test.signUp(`user ${++count}`, application);
  return { appid, jane: await signUp(), signUp };
}

async function usageOf(appid: string): Promise<Record<string, [bytes: number, files: number]>> {
  const { reads } = test.app.database;
  const rows = await reads.selectFrom("file_usage").selectAll().where("application_id", "=", appid).execute();
  return Object.fromEntries(rows.map(({ user_id, bytes, files }) => [user_id || "all", [bytes, files]]));
}

const post = (user: TestUser, length: number) =>
  postForm(test, "/blobs", [dataPart("x".repeat(length))], { token: user.token });

// spec/files#file-quotas
describe("quotas of files", () => {
  it("count the bytes of a user's files, and refuse a file that does not fit with the quota's name, storing nothing", async () => {
    const { appid, jane } = await withQuotas({ bytesPerUser: 100 });
    assert.equal((await post(jane, 60)).status, 201);
    const message = "The files of this user would be larger than 100 bytes together (bytesPerUser).";
    assertError(await post(jane, 41), 413, "RequestTooLarge", 1281, message);
    assert.deepEqual(await usageOf(appid), { [jane.id]: [60, 1], all: [60, 1] });
    assert.equal((await post(jane, 40)).status, 201);
    assertError(await post(jane, 1), 413, "RequestTooLarge", 1281, message);
  });

  it("count files per user and per application, whichever caller uploads them", async () => {
    const { appid, jane, signUp } = await withQuotas({
      filesPerUser: 1,
      filesPerApplication: 2,
      bytesPerApplication: 50,
    });
    assert.equal((await post(jane, 10)).status, 201);
    assertError(
      await post(jane, 1),
      413,
      "RequestTooLarge",
      1281,
      "The user would have more than 1 files (filesPerUser).",
    );
    const [john, jill] = [await signUp(), await signUp()];
    const tooMuch = "The files of this application would be larger than 50 bytes together (bytesPerApplication).";
    assertError(await post(john, 41), 413, "RequestTooLarge", 1281, tooMuch);
    assert.equal((await post(john, 40)).status, 201);
    const tooMany = "The application would have more than 2 files (filesPerApplication).";
    assertError(await post(jill, 1), 413, "RequestTooLarge", 1281, tooMany);
    assert.deepEqual(await usageOf(appid), { [jane.id]: [10, 1], [john.id]: [40, 1], all: [50, 2] });
  });

  it("abort an upload when it reaches the limit, not after it has arrived", async () => {
    const { jane } = await withQuotas({ bytesPerUser: 1_000 });
    const connection = openRaw(test.port);
    connection.write(
      `POST /blobs HTTP/1.1\r\nHost: x\r\nAuthorization: Service ${jane.token}\r\nContent-Length: 100000000\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\n` +
        "x".repeat(70_000),
    );
    const answer = await connection.receive();
    assert.deepEqual([answer?.status, answer?.body.error], [413, "RequestTooLarge"]);
    assert.match(answer?.body.message, /bytesPerUser/);
    connection.close();
  });

  it("admit exactly as many concurrent uploads as fit", async () => {
    const { appid, jane } = await withQuotas({ bytesPerUser: 1_000 });
    const answers = await Promise.all(Array.from({ length: 25 }, () => post(jane, 90)));
    assert.deepEqual(
      [201, 413].map((status) => answers.filter((answer) => answer.status === status).length),
      [11, 14],
    );
    assert.deepEqual(await usageOf(appid), { [jane.id]: [990, 11], all: [990, 11] });
  });

  it("release bytes once for files that several processes erase concurrently", async () => {
    const { appid, jane, signUp } = await withQuotas({});
    const kept = await signUp();
    assert.equal((await post(kept, 7)).status, 201);
    for (let n = 0; n < 20; n += 1) assert.equal((await post(jane, 10)).status, 201);
    const { database } = test.app;
    await database.write(({ queries }) =>
      queries.updateTable("users").set({ deleted_at: test.now() }).where("id", "=", jane.id).execute(),
    );
    const done = await Promise.all(Array.from({ length: 4 }, () => eraseUser(appid, jane.id, database)));
    assert.deepEqual(done, [true, true, true, true]);
    assert.deepEqual(await usageOf(appid), { [kept.id]: [7, 1], all: [7, 1] });
  });

  it("release the bytes of files deleted by their owner, with their user or by a repeat of the same key", async () => {
    const { appid, jane, signUp } = await withQuotas({ bytesPerUser: 100, bytesPerApplication: 150 });
    const blob = await upload(test, jane.token, "/blobs", dataPart("x".repeat(100)));
    assertResult(await test.call(`DELETE /blobs/${blob.id}`, { token: jane.token }), 200, true);
    assert.deepEqual(await usageOf(appid), { [jane.id]: [0, 0], all: [0, 0] });
    const headers = { "idempotency-key": "k" };
    for (let n = 0; n < 3; n += 1) {
      const parts = [dataPart("x".repeat(60))];
      assert.equal((await postForm(test, "/blobs", parts, { token: jane.token, headers })).status, 201);
    }
    assert.deepEqual(await usageOf(appid), { [jane.id]: [60, 1], all: [60, 1] });
    const john = await signUp();
    await upload(test, john.token, "/videos", dataPart("x".repeat(90)));
    assertResult(await test.call("DELETE /users/me", { token: jane.token }), 200, true);
    await maintain(test.app);
    assert.deepEqual(await usageOf(appid), { [john.id]: [90, 1], all: [90, 1] });
    assert.equal((await post(john, 10)).status, 201);
    await test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
    await maintain(test.app);
    assert.deepEqual(await usageOf(appid), {});
  });

  it("are unlimited without a setting, but still counted", async () => {
    const { appid, jane } = await withQuotas({});
    assert.equal((await post(jane, 10)).status, 201);
    assert.deepEqual(await usageOf(appid), { [jane.id]: [10, 1], all: [10, 1] });
  });
});
