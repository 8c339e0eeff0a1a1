import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertResult, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import type { MetadataRow } from "../db/tables.ts";
import { finishErasure } from "../jobs/metadata-erasure.ts";
import { eraseUser } from "../users/users.erasure.ts";

let test: TestApp;
let other: TestUser;
before(async () => {
  test = await startTestApp();
  other = await test.signUp();
});
after(() => test.close());

async function put(path: string, token: string, body: object = {}): Promise<void> {
  const { status } = await test.call(`PUT /metadata/${path}`, { token, body: { value: 1, ...body } });
  assert.ok(status === 200 || status === 201);
}

/** Creates a check-in or a file that other users may read and write. */
async function make(collection: string, { token }: TestUser, app = test): Promise<string> {
  const permissions = { readPermissions: "App", writePermissions: "App" };
  if (collection !== "checkins") return (await upload(app, token, `/${collection}`, dataPart("x"), permissions)).id;
  return (await app.call("POST /checkins", { token, body: { location: "1,2", ...permissions } })).body.result.id;
}

/** Adds this many keys to an object. */
async function insertMany(objectId: string, slot: string, count: number): Promise<void> {
  const rows = Array.from(
    { length: count },
    (_, n): MetadataRow => ({
      ...{
        application_id: test.application.appid,
        object_id: objectId,
        slot,
        key: `many ${n}`,
        value: null,
        number: n,
      },
      ...{ setter_id: null, lat: null, lng: null, cell: null, seen_lat: null, seen_lng: null, seen_cell: null },
      ...{ created_at: 0, modified_at: 0 },
    }),
  );
  for (let start = 0; start < count; start += 500) {
    const some = rows.slice(start, start + 500);
    await test.app.database.write(({ queries }) => queries.insertInto("metadata").values(some).execute());
  }
}

async function rowsOf(column: "object_id" | "slot" | "setter_id", id: string): Promise<MetadataRow[]> {
  return [...(await test.app.database.reads.selectFrom("metadata").selectAll().where(column, "=", id).execute())];
}

async function untilErased(objectId: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while ((await rowsOf("object_id", objectId)).length > 0) {
    assert.ok(Date.now() < deadline, "the background work does not finish");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function unfinished(): Promise<unknown[]> {
  return [...(await test.app.database.reads.selectFrom("unfinished_erasures").selectAll().execute())];
}

for (const collection of ["checkins", "blobs"]) {
  describe(`metadata is deleted with its object: ${collection}`, () => {
    it("a few keys, of all users, are deleted in the same transaction", async () => {
      const owner = await test.signUp();
      const [gone, kept] = [await make(collection, owner), await make(collection, owner)];
      for (const id of [gone, kept]) {
        for (const { token } of [owner, other]) await put(`${id}/a`, token);
        await put(`${id}/a`, other.token, { visibility: "App" });
      }
      assertResult(await test.call(`DELETE /${collection}/${gone}`, { token: owner.token }), 200, true);
      assert.deepEqual(await rowsOf("object_id", gone), []);
      assert.equal((await rowsOf("object_id", kept)).length, 3);
      assert.deepEqual(await unfinished(), []);
    });

    it("thousands of keys become unreadable with the response, and are erased in the background", async () => {
      const owner = await test.signUp();
      const id = await make(collection, owner);
      await insertMany(id, "", 2_000);
      assertResult(await test.call(`DELETE /${collection}/${id}`, { token: owner.token }), 200, true);
      for (const path of [id, `${id}/many%201999`]) {
        const { status } = await test.call(`GET /metadata/${path}?visibility=App`, { token: owner.token });
        assert.equal(status, 404);
      }
      await untilErased(id);
      await maintain(test.app);
      assert.deepEqual(await unfinished(), []);
    });

    it("erasure runs in bounded steps; maintenance of another process completes it after a shutdown", async () => {
      const leaving = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
      const owner = await leaving.signUp();
      const id = await make(collection, owner, leaving);
      const { appid } = leaving.application;
      const rows = Array.from({ length: 5_000 }, (_, n) => ({
        ...{ application_id: appid, object_id: id, slot: "", key: `k${n}`, number: n, created_at: 0, modified_at: 0 },
      }));
      for (let n = 0; n < rows.length; n += 500) {
        await test.app.database.write(({ queries }) =>
          queries
            .insertInto("metadata")
            .values(rows.slice(n, n + 500))
            .execute(),
        );
      }
      await leaving.call(`DELETE /${collection}/${id}`, { token: owner.token });
      await leaving.close();
      const left = (await rowsOf("object_id", id)).length;
      assert.ok(left > 0 && left <= 4_750, `${left}`);
      await assert.rejects(finishErasure(appid, id, test.app.database, AbortSignal.abort()));
      assert.deepEqual(await unfinished(), [{ application_id: appid, object_id: id }]);
      await maintain(test.app);
      assert.deepEqual([await rowsOf("object_id", id), await unfinished()], [[], []]);
    });

    it("concurrent writes are refused, or their rows deleted", async () => {
      for (let round = 0; round < 5; round += 1) {
        const owner = await test.signUp();
        const id = await make(collection, owner);
        const write = (n: number) =>
          test.call(`PUT /metadata/${id}/k${n}`, {
            token: other.token,
            body: { value: n, visibility: n % 2 ? "App" : "User" },
          });
        const early = Array.from({ length: 3 * round }, (_, n) => write(n));
        const removing = test.call(`DELETE /${collection}/${id}`, { token: owner.token });
        const late = Array.from({ length: 10 }, (_, n) => write(100 + n));
        for (const { status } of await Promise.all([...early, removing, ...late])) {
          assert.ok([200, 201, 404].includes(status), `${status}`);
        }
        assert.deepEqual(await rowsOf("object_id", id), []);
      }
    });
  });
}

// spec/metadata#metadata-deletion
describe("metadata is deleted with its user", () => {
  /** Signs up a user with metadata on every kind of object. */
  async function signUpWithAll(): Promise<{
    user: TestUser;
    mine: string;
    file: string;
    theirs: string;
    key: string;
  }> {
    const user = await test.signUp();
    const [mine, theirs] = [await make("checkins", user), await make("checkins", other)];
    const file = await make("blobs", user);
    const key = `by ${user.id}`.replace(" ", "-");
    for (const visibility of ["App", "User"]) {
      for (const id of ["app", "me", "current", mine, file, theirs]) {
        await put(`${id}/${key}`, user.token, { visibility, location: "48,16" });
      }
    }
    for (const id of [mine, file]) await put(`${id}/${key}`, other.token);
    await put("app/bystander", other.token, { visibility: "App", location: "1,2" });
    return { user, mine, file, theirs, key };
  }

  async function assertErased({
    user,
    mine,
    file,
    theirs,
    key,
  }: Awaited<ReturnType<typeof signUpWithAll>>): Promise<void> {
    for (const id of [user.id, mine, file]) assert.deepEqual(await rowsOf("object_id", id), []);
    for (const column of ["slot", "setter_id"] as const) assert.deepEqual(await rowsOf(column, user.id), []);
    for (const id of ["app", theirs]) {
      const { body } = await test.call(`GET /metadata/${id}/${key}?visibility=App`, { token: other.token });
      assert.deepEqual([body.result.value, body.result.location], [1, undefined]);
    }
    const bystander = await test.call("GET /metadata/app/bystander?visibility=App", { token: other.token });
    assert.deepEqual(bystander.body.result.location, { lat: 1, lng: 2 });
  }

  it("removes the user's own slots and metadata on the user, their check-ins and files; shared keys of other objects lose only the location", async () => {
    const all = await signUpWithAll();
    assertResult(await test.call("DELETE /users/me", { token: all.user.token }), 200, true);
    await assertErased(all);
  });

  it("runs in bounded steps; from the first step on, other users see neither the metadata nor the user's locations", async () => {
    const all = await signUpWithAll();
    const { user, mine, file, key } = all;
    for (const [id, slot] of [
      ...[
        [mine, ""],
        [file, ""],
        [user.id, ""],
        [mine, other.id],
        [file, other.id],
        [test.application.appid, user.id],
      ],
    ] as const) {
      await insertMany(`${id}`, `${slot}`, 600);
    }
    const { appid } = test.application;
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set({ deleted_at: 1 }).where("id", "=", user.id).execute(),
    );
    for (const path of [`${user.id}/${key}`, `${mine}/${key}`, `${file}/${key}`]) {
      assert.equal((await test.call(`GET /metadata/${path}?visibility=App`, { token: other.token })).status, 404);
    }
    const shared = await test.call(`GET /metadata/app/${key}?visibility=App`, { token: other.token });
    assert.equal(shared.body.result.location, undefined);
    const search = await test.call(`GET /metadata/app?visibility=App&locationRange=48,16,100&key=${key}`, {
      token: other.token,
    });
    assert.deepEqual(search.body.result.pageResults, []);

    const count = async () => (await test.app.database.reads.selectFrom("metadata").select("key").execute()).length;
    for (let before = await count(), rounds = 0; rounds < 4; rounds += 1) {
      assert.equal(await eraseUser(appid, user.id, test.app.database, { stepsMax: 3 }), false);
      const now = await count();
      assert.ok(before - now <= 750, `${before - now}`);
      before = now;
    }
    await maintain(test.app);
    await assertErased(all);
  });

  it("concurrent writes of the user are refused, or their rows deleted", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { user, mine, file, theirs } = await signUpWithAll();
      const write = (n: number) => {
        const id = ["app", "me", mine, theirs, file][n % 5];
        const location = n % 2 === 0 ? `2,${n}` : undefined;
        const body = { value: n, visibility: n % 3 === 0 ? "App" : "User", location };
        return test.call(`PUT /metadata/${id}/k${n}-${round}`, { token: user.token, body });
      };
      const early = Array.from({ length: 6 * round }, (_, n) => write(n));
      const removing = test.call("DELETE /users/me", { token: user.token });
      const late = Array.from({ length: 12 }, (_, n) => write(100 + n));
      for (const { status } of await Promise.all([...early, removing, ...late])) {
        assert.ok([200, 201, 401, 404].includes(status), `${status}`);
      }
      await maintain(test.app);
      for (const id of [user.id, mine, file]) assert.deepEqual(await rowsOf("object_id", id), []);
      for (const column of ["slot", "setter_id"] as const) assert.deepEqual(await rowsOf(column, user.id), []);
    }
  });
});
