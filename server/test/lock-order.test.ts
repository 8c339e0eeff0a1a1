import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import type { Queries } from "../src/db/database.ts";
import { eraseMetadataOf } from "../src/jobs/metadata-erasure.ts";
import { deleteOwned } from "../src/owned/store.ts";
import { eraseUser } from "../src/users/users.erasure.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { dataPart, formHeaders, formOf } from "./uploads.ts";

/** PostgreSQL locks the rows of a write, so transactions that lock in different orders can deadlock. */

describe("PostgreSQL: an object is locked before its metadata", {
  skip: process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL",
}, () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp();
  });
  after(() => test.close());

  /** Deletes an object while the erasure of its owner reaches the object. */
  async function deleteDuringErasure(
    user: TestUser,
    id: string,
    deleteObject: (queries: Queries) => Promise<unknown>,
  ): Promise<void> {
    const { database } = test.app;
    const { appid } = test.application;
    let erased: Promise<unknown> | undefined;
    let runs = 0;
    await database.write(async ({ queries }) => {
      runs += 1;
      await sql`set local lock_timeout = 300`.execute(queries); // fails instead of waiting for the other transaction
      await deleteObject(queries);
      erased ??= eraseUser(appid, user.id, database);
      await waitUntilBlocked();
      await eraseMetadataOf(appid, id, queries);
    });
    await erased;
    assert.equal(runs, 1);
  }

  async function waitUntilBlocked(): Promise<void> {
    const deadline = Date.now() + 60_000;
    for (let count = 0; count === 0; ) {
      assert.ok(Date.now() < deadline, "Nobody waits");
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(test.app.database.reads);
      count = rows[0]?.count ?? 0;
    }
  }

  const isErased = async (id: string) => {
    const { rows } = await sql`select 1 from metadata where object_id = ${id}`.execute(test.app.database.reads);
    return rows.length === 0;
  };

  it("a check-in can be deleted while its owner is erased", async () => {
    const user = await test.signUp();
    const { token } = user;
    const { body } = await test.call("POST /checkins", { token, body: { location: "1,2" } });
    const id: string = body.result.id;
    await test.call(`PUT /metadata/${id}/key`, { token, body: { value: "a", visibility: "App" } });
    await deleteDuringErasure(user, id, (queries) => deleteOwned("checkins", test.application.appid, id, queries));
    assert.ok(await isErased(id));
  });

  it("a file can be deleted while its owner is erased", async () => {
    const user = await test.signUp();
    const { token } = user;
    const form = formOf([dataPart(Buffer.from("bytes"))]);
    const { body } = await test.call("POST /blobs", { token, body: form, headers: formHeaders });
    const id: string = body.result.id;
    await test.call(`PUT /metadata/${id}/key`, { token, body: { value: "a", visibility: "App" } });
    await deleteDuringErasure(user, id, (queries) => deleteOwned("files", test.application.appid, id, queries));
    assert.ok(await isErased(id));
  });
});
