import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";
import { checkinRow, insertCheckins } from "../../test/rows.ts";
import { begin, sendBytes } from "../../test/tus.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { createRevocations } from "../auth/revocations.ts";
import { forOwnedTables } from "../db/owned-tables.ts";
import { putCode } from "./users.codes.store.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";

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

function remove(token: string, id = "me", app = test): Promise<Answer> {
  return app.call(`DELETE /users/${id}`, { token });
}

async function assertTokenEnded(token: string): Promise<void> {
  for (const app of [test, other]) {
    for (const operation of [
      "GET /checkins?pageSize=1",
      "GET /users/me",
      "POST /users/me/logout",
      "DELETE /users/me",
    ]) {
      assertError(await app.call(operation, { token }), 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
  }
}

/** Counts a user's rows in each table that has some. */
async function rowsOf({ id }: TestUser, { app }: TestApp = test): Promise<Record<string, number>> {
  const { reads } = app.database;
  const counts: Record<string, number> = {};
  for (const { name, columns } of await reads.introspection.getTables()) {
    const column = name === "users" ? "id" : columns.find((each) => each.name === "user_id")?.name;
    if (column === undefined) continue;
    const found = sql<{ n: number }>`select count(*) as n from ${sql.table(name)} where ${sql.ref(column)} = ${id}`;
    const [row] = (await found.execute(reads)).rows;
    if (row !== undefined && Number(row.n) > 0) counts[name] = Number(row.n);
  }
  return counts;
}

/** Signs up a user with rows in every table. */
async function signUpWithAll(app = test, checkIns = 3): Promise<TestUser> {
  const user = await app.signUp();
  const { id, token } = user;
  const { appid } = app.application;
  await app.call("PATCH /users/me", { token, body: { locationFuzzing: true, location: "48,16", email: "j@x.at" } });
  await app.call("POST /users/me/identities/acme", { token, body: { identityId: id } });
  await app.call("POST /checkins", { token, body: { location: "1,2", readPermissions: "App" } });
  await app.call("POST /metrics/events/level", { token });
  await upload(app, token, "/blobs", dataPart("x"));
  await sendBytes(app, token, await begin(app, token, 2), 0, "x");
  await app.app.database.write(({ queries }) =>
    putCode(
      { kind: "resetCode", applicationId: appid, userId: id, digest: "x" },
      { to: "j@x.at", createdAt: app.now(), expiresAt: app.now() + 1_000 },
      queries,
    ),
  );
  await app.call("POST /users/me/email", { token, body: { email: `${id}@example.com` } });
  const mail = { id: `mal ${id}`, user_id: id, kind: "notice", sealed: "", attempts: 0, due_at: 0, expires_at: 0 };
  await app.app.database.write(({ queries }) =>
    queries
      .insertInto("mail_outbox")
      .values({ application_id: appid, ...mail })
      .execute(),
  );
  const seen = { seen_lat: 1.01, seen_lng: 2, read_permission: 1 };
  const more = Array.from({ length: checkIns - 1 }, (_, n) =>
    checkinRow({ application_id: appid, id: app.app.ids.newId("Checkin"), user_id: id, created_at: n, ...seen }),
  );
  await insertCheckins(app, more);
  const tables = [
    "checkins",
    "email_codes",
    "file_usage",
    "files",
    "identities",
    "location_shifts",
    "mail_outbox",
    "metric_handles",
    "password_resets",
    "recognized_devices",
    "resumable_uploads",
    "user_tokens",
    "users",
  ];
  assert.deepEqual(Object.keys(await rowsOf(user, app)).sort(), tables, "a new table belongs into this test");
  return user;
}

/** Marks a user as deleted without erasing the user's rows. */
async function markDeleted({ id }: TestUser): Promise<void> {
  // Other processes detect the commit.
  const revocations = createRevocations({ invalidateTokenCache: () => {} }, test.app.events);
  await other.app.database.write((transaction) =>
    updateUserDeleted(test.application.appid, id, test.now(), { revocations, events: test.app.events }, transaction),
  );
}

async function find(reader: TestUser, query: string, app = test): Promise<unknown[]> {
  const { status, body } = await app.call(`GET ${query}`, { token: reader.token });
  assert.equal(status, 200);
  return body.result.pageResults;
}

describe("DELETE /users/{userId}: spec/users#delete-a-user", () => {
  it("answers 200 true, by either name; every process refuses the user's tokens, and no row remains", async () => {
    for (const [name, app] of [
      ["me", test],
      ["own", test],
      ["ME", other],
    ] as const) {
      const user = await signUpWithAll();
      const body = { username: user.userName, password: user.password };
      const login = await test.call("POST /users/login", { token: user.deviceToken, body });
      const second = login.body.result.accessToken;
      for (const each of [test, other]) assert.equal((await each.call("GET /users/me", { token: second })).status, 200);
      assertResult(await remove(user.token, name === "own" ? user.id : name, app), 200, true);
      for (const token of [user.token, second]) await assertTokenEnded(token);
      assert.deepEqual(await rowsOf(user), {});
      const again = await test.call("POST /users/login", { token: user.deviceToken, body });
      assertError(again, 403, "AuthBadUsernameOrPassword", 262);
    }
  });

  it("frees the name and the identities; a later user of that name is another user", async () => {
    const user = await signUpWithAll();
    await remove(user.token);
    const next = await test.signUp(user.userName.toUpperCase());
    assert.notEqual(next.id, user.id);
    const body = { identityId: user.id };
    assertResult(await test.call("POST /users/me/identities/acme", { token: next.token, body }), 200, 1);
    assert.deepEqual(await find(next, "/checkins"), []);
    await assertTokenEnded(user.token);
  });

  it("hides the user and the shared objects from other users: 404 by id, and absent from searches", async () => {
    const user = await signUpWithAll();
    const reader = await test.signUp();
    const [shared] = (await find(reader, `/checkins?userID=${user.id}`)) as { id: string }[];
    await remove(user.token);
    for (const path of [`users/${user.id}`, `checkins/${shared?.id}`, `users/identities/acme/${user.id}`]) {
      const answer = await test.call(`GET /${path}`, { token: reader.token });
      assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    for (const query of [`/checkins?userID=${user.id}`, `/users?userName=${encodeURIComponent(user.userName)}`]) {
      assert.deepEqual(await find(reader, query), []);
    }
    const gone = await remove(reader.token, user.id);
    assertError(gone, 404, "ItemDoesNotExist", 769, "The item does not exist.");
  });

  it("does not touch other users and their shared objects", async () => {
    const bystander = await signUpWithAll();
    const elsewhere = await test.signUp(bystander.userName, await test.createApplication());
    const user = await signUpWithAll();
    const rows = await rowsOf(bystander);
    const profile = (await test.call("GET /users/me", { token: bystander.token })).body.result;
    await remove(user.token);
    await maintain(test.app);
    assert.deepEqual(await rowsOf(bystander), rows);
    assertResult(await test.call("GET /users/me", { token: bystander.token }), 200, profile);
    assert.equal((await find(elsewhere, "/users")).length, 1);
  });

  it("succeeds for all concurrent deletions of one user", async () => {
    const user = await signUpWithAll();
    const answers = await Promise.all([test, other, test, other].map((app) => remove(user.token, "me", app)));
    assert.ok(answers.some(({ status }) => status === 200));
    for (const answer of answers) assert.ok(answer.status === 200 || answer.status === 401);
    await maintain(test.app);
    assert.deepEqual(await rowsOf(user), {});
  });

  it("refuses or erases the rows of concurrent writes", async () => {
    for (let round = 0; round < 3; round++) {
      const user = await signUpWithAll();
      const { token, deviceToken, userName, password } = user;
      const write = (n: number): Promise<Answer> => {
        const app = n % 2 === 0 ? test : other;
        if (n % 5 === 0) return app.call("PATCH /users/me", { token, body: { username: `${userName} ${n}` } });
        if (n % 5 === 1) return app.call("POST /users/me/identities/acme", { token, body: { identityId: `${n}` } });
        if (n % 5 === 2) return app.call("PATCH /users/me", { token, body: { locationFuzzing: n % 2 } });
        if (n % 5 === 3) {
          return app.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
        }
        return app.call("POST /checkins", { token, body: { location: `1,${n}`, readPermissions: "App" } });
      };
      const before = Array.from({ length: 5 * round }, (_, n) => write(n));
      const removing = remove(token);
      const later = Array.from({ length: 25 }, (_, n) => write(100 + n));
      const [removed, ...answers] = await Promise.all([removing, ...before, ...later]);
      assert.ok(removed.status === 200 || removed.status === 503);
      for (const { status, text } of answers) assert.ok([200, 201, 401, 403, 503].includes(status), text);
      if (removed.status === 503) await remove(token);
      await maintain(test.app);
      assert.deepEqual(await rowsOf(user), {});
      await assertTokenEnded(token);
      const logins = answers.flatMap(({ body }) => body.result?.accessToken ?? []);
      for (const each of logins) await assertTokenEnded(each);
    }
  });
});

describe("a user whose rows are still being erased", () => {
  it("is hidden from all other users, in every search and by id, as soon as the deletion is committed", async () => {
    const user = await signUpWithAll();
    const reader = await test.signUp();
    const shared = (await find(reader, `/checkins?userID=${user.id}`)) as { id: string }[];
    assert.equal(shared.length, 3);
    await markDeleted(user);
    await assertTokenEnded(user.token);
    assert.equal((await rowsOf(user))["checkins"], 3);
    const everywhere = "locationRange=0,0,20100000";
    for (const query of [
      `/checkins?userID=${user.id}`,
      `/checkins?userID=${user.id}&${everywhere}`,
      `/checkins?${everywhere}&sortOrder=distance`,
      "/checkins?sortOrder=tag",
      "/users?email=j@x.at",
      `/users?${everywhere}`,
    ]) {
      assert.ok(!JSON.stringify(await find(reader, query)).includes(user.id), query);
    }
    for (const { id } of shared) {
      for (const operation of ["GET", "PATCH", "DELETE"]) {
        const answer = await test.call(`${operation} /checkins/${id}`, { token: reader.token });
        assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
      }
    }
    const body = { identityId: user.id };
    assertResult(await test.call("POST /users/me/identities/acme", { token: reader.token, body }), 200, 1);
    assert.equal((await test.signUp(user.userName)).userName, user.userName);
    await maintain(test.app);
    assert.deepEqual(await rowsOf(user), {});
  });

  it("is erased in bounded steps, and the erasure can stop and resume at any point", async () => {
    const user = await signUpWithAll(test, 1_200);
    await markDeleted(user);
    const { appid } = test.application;
    const left = async () => Object.values(await rowsOf(user)).reduce((sum, n) => sum + n, 0);
    for (let before = await left(), rounds = 0; rounds < 3; rounds++) {
      assert.equal(await eraseUser(appid, user.id, test.app.database, { stepsMax: 2 }), false);
      const now = await left();
      assert.ok(now < before && before - now <= 500 + 1, `${before} ${now}`);
      before = now;
    }
    const signal = AbortSignal.abort();
    await assert.rejects(eraseUser(appid, user.id, test.app.database, { signal }));
    await assert.rejects(maintain(test.app, signal));
    assert.notEqual(await left(), 0);
    await Promise.all([maintain(test.app), maintain(other.app)]);
    assert.equal(await left(), 0);
  });

  it("is deleted with a response before thousands of rows are erased; maintenance completes the erasure after a shutdown", async () => {
    const leaving = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    const user = await signUpWithAll(leaving, 5_000);
    const reader = await leaving.signUp();
    assertResult(await remove(user.token, "me", leaving), 200, true);
    await leaving.close();
    const path = `GET /_/api/applications/${leaving.application.appid}/erasures`;
    const { token } = await test.createOperator("Ada Erasures", "viewer");
    const { users, isMore } = (await test.call(path, { token })).body.result;
    const counts = {
      ...forOwnedTables(() => 0),
      tokens: 0,
      identities: 0,
      checkins: 1_000,
      metadata: 0,
      files: 1,
      fileBytes: 1,
    };
    assert.deepEqual(users, [{ id: user.id, since: `/Date(${leaving.now()})/`, counts }]);
    assert.equal(isMore, false);
    const rows = await rowsOf(user);
    assert.ok((rows["checkins"] ?? 0) > 0, "there was more to do than before an answer");
    assert.deepEqual(await find(reader, `/checkins?userID=${user.id}`), []);
    assert.equal(rows["identities"], undefined);
    await maintain(test.app);
    assert.deepEqual(await rowsOf(user), {});
    assertResult(await test.call(path, { token }), 200, { users: [], isMore: false });
  });
});
