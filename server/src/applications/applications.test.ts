import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { begin, sendBytes } from "../../test/tus.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { maintain } from "../app/maintenance.ts";
import { insertBatch } from "../metrics/engine/compaction.ts";
import { insertInboxRow } from "../metrics/engine/inbox.store.ts";
import {
  deleteApplicationRows,
  insertApplication,
  listApplications,
  type NewApplication,
  updateApplicationDeleted,
} from "./applications.store.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

function markDeleted(appid: string): Promise<boolean> {
  return test.app.database.write(({ queries }) => updateApplicationDeleted(appid, test.now(), queries));
}

/** Creates an application with at least one row in every table. */
async function createFullApplication(): Promise<NewApplication> {
  const application = await test.createApplication("Full");
  const user = await test.signUp("Jane", application);
  const { token } = user;
  await test.call("POST /checkins", { token, body: { location: "1,2" }, headers: { "idempotency-key": "1" } });
  const place = { name: "Place", location: "1,2" };
  const { id } = (await test.call("POST /locations", { token, body: place })).body.result;
  await test.call(`POST /locations/${id}/flag`, { token });
  await test.call("POST /users/me/identities/crm", { token, body: { identityId: "4711" } });
  await test.call("POST /devices/current/crashreports", { token, body: { stackTrace: "at nowhere" } });
  await test.call("POST /metrics/events/level", { token });
  await test.app.compactor.compact(application.appid);
  await test.call("PATCH /users/me", { token, body: { locationFuzzing: true } });
  await upload(test, token, "/blobs", dataPart("x"));
  await test.call("PUT /metadata/me/key", { token, body: { value: 1 } });
  await sendBytes(test, token, await begin(test, token, 2), 0, "x");
  const reset = { user_id: user.id, digest: "", tries_left: 5, expires_at: 0 };
  const application_id = application.appid;
  await test.app.database.write(async ({ queries }) => {
    await queries
      .insertInto("password_resets")
      .values({ application_id, ...reset })
      .execute();
    const verification = { ...reset, created_at: 0, address: "a@example.com" };
    await queries
      .insertInto("email_codes")
      .values({ application_id, ...verification })
      .execute();
    const mail = { id: "mal_1", user_id: user.id, kind: "notice", sealed: "", attempts: 0, due_at: 0, expires_at: 0 };
    await queries
      .insertInto("mail_outbox")
      .values({ application_id, ...mail })
      .execute();
    await queries
      .insertInto("mail_limits")
      .values({ application_id, subject: "s", times: "[]", expires_at: test.now() + 1e12 })
      .execute();
    const key = `${application_id}/gone/`;
    await queries.insertInto("loose_bytes").values({ application_id, key, loose_at: test.now() }).execute();
    await queries.insertInto("unfinished_erasures").values({ application_id, object_id: "gone" }).execute();
  });
  return application;
}

/** Counts the rows of the application by table, without empty tables. */
async function countRows(appid: string): Promise<Record<string, number>> {
  const { reads } = test.app.database;
  const tables = (await reads.introspection.getTables()).filter(({ columns }) =>
    columns.some(({ name }) => name === "application_id"),
  );
  assert.ok(tables.length >= 7);
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const counted = await sql<{ rows: number }>`
      select count(*) as rows from ${sql.table(name)} where application_id = ${appid}
    `.execute(reads);
    const rows = Number(counted.rows[0]?.rows);
    if (rows > 0) counts[name] = rows;
  }
  return counts;
}

const oneRowEach = {
  metric_handles: 1,
  metric_chunks: 1,
  metric_rollups: 2,
  metric_keys: 1,
  applications: 1,
  application_keys: 1,
  devices: 1,
  users: 1,
  crash_group_days: 1,
  crash_group_devices: 1,
  crash_group_platforms: 1,
  crash_group_versions: 1,
  crash_groups: 1,
  crash_reports: 1,
  user_tokens: 1,
  password_resets: 1,
  email_codes: 1,
  mail_outbox: 1,
  mail_limits: 1,
  recognized_devices: 1,
  location_shifts: 1,
  identities: 1,
  checkins: 1,
  locations: 1,
  location_flags: 1,
  files: 1,
  loose_bytes: 2,
  resumable_uploads: 1,
  upload_segments: 1,
  file_usage: 2,
  kept_replies: 1,
  idempotency_usage: 1,
  metadata: 1,
  unfinished_erasures: 1,
};

describe("creating an application", () => {
  it("returns an id and a key that register devices, and creates nothing if the transaction fails", async () => {
    const { appid, appkey } = await test.createApplication();
    assert.match(appid, /^app_[0-9a-z]+$/);
    assert.match(appkey, /^rk_[\w-]{43}$/);

    let lost: NewApplication | undefined;
    const failing = test.app.database.write(async ({ queries }) => {
      lost = await insertApplication("Lost", test.app, queries);
      throw new Error("no");
    });
    await assert.rejects(failing, /^Error: no$/);
    const answer = await test.call("POST /devices", { body: { ...lost, platform: "test" } });
    assert.equal(answer.body.error, "AuthAppCredentialsInvalid");
  });

  it("adds it to the list of applications, which is sorted by age and has no secrets", async () => {
    const created = await test.createApplication("Listed");
    const listed = await listApplications(test.app.database.reads);
    assert.deepEqual(listed.at(-1), {
      appid: created.appid,
      name: "Listed",
      createdAt: test.now(),
      isSuspended: false,
      isBeingDeleted: false,
      importingUntil: null,
      movingTo: null,
    });
    const ids = listed.map(({ appid }) => appid);
    assert.deepEqual(ids, [...ids].sort());
  });
});

// spec/operators#deleted-applications
describe("deleting an application", () => {
  it("invalidates its credentials and tokens from the next request on, before any row is erased", async () => {
    const application = await test.createApplication();
    const { token, deviceToken } = await test.signUp("Jane", application);
    assert.equal((await test.call("GET /users/me", { token })).status, 200);

    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl }); // as `rollcall apps delete` does
    await other.app.database.write(({ queries }) => updateApplicationDeleted(application.appid, other.now(), queries));
    await other.close();

    const me = await test.call("GET /users/me", { token });
    assertError(me, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    const body = { username: "Jane", password: "correct horse" };
    const login = await test.call("POST /users/login", { token: deviceToken, body });
    assertError(login, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    const registration = await test.call("POST /devices", { body: { ...application, platform: "test" } });
    assert.equal(registration.status, 401);
    assert.equal(registration.body.error, "AuthAppCredentialsInvalid");
  });

  it("reports an application that does not exist as not deleted", async () => {
    assert.equal(await markDeleted(test.app.ids.newId("App")), false);
  });

  it("erases only its own rows, in every table", async () => {
    const gone = await createFullApplication();
    const kept = await createFullApplication();
    assert.deepEqual(await countRows(gone.appid), oneRowEach);
    const row = { application_id: gone.appid, id: test.app.ids.newId("MetricEvent") };
    await test.app.database.write(async ({ queries }) => {
      await insertInboxRow({ ...row, received_at: 0, payload: "{}" }, queries);
      await insertBatch({ ...row, row_ids: "[]", done_until: "", leased_until: 0 }, queries);
    });
    assert.equal(await markDeleted(gone.appid), true);
    await deleteApplicationRows(gone.appid, test.app);
    assert.deepEqual(await countRows(gone.appid), {});
    assert.deepEqual(await countRows(kept.appid), oneRowEach);
    const listed = await listApplications(test.app.database.reads);
    assert.ok(!listed.some(({ appid }) => appid === gone.appid));
  });

  const locksRows = process.env["TEST_DATABASE_URL"] !== undefined;
  it("erases the events of a write that commits during the erasure", {
    skip: !locksRows && "writes exclude each other",
  }, async () => {
    const { appid } = await createFullApplication();
    const { database, ids } = test.app;
    const changed = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const writing = database.write(async ({ queries }) => {
      await queries.updateTable("checkins").set({ comment: "late" }).where("application_id", "=", appid).execute();
      const about = {
        application_id: appid,
        type: "checkin.changed",
        at: test.now(),
        object_id: "",
        changed: "comment",
      };
      const event = { ...about, id: ids.newId("Event"), was_shown: 0, is_shown: 0 };
      await queries.insertInto("events").values(event).execute();
      changed.resolve();
      await released.promise;
    });
    await changed.promise;
    await markDeleted(appid);
    const erasing = deleteApplicationRows(appid, test.app);
    const countEvents = async () => (await countRows(appid))["events"] ?? 0;
    while ((await countEvents()) > 0) await sleep(10); // the committed events
    released.resolve();
    await Promise.all([writing, erasing]);
    assert.deepEqual(await countRows(appid), {});
  });

  it("erases in bounded steps, can be interrupted at any of them, and is finished by maintenance", async () => {
    const { appid } = await createFullApplication();
    const [owner] = await test.app.database.reads
      .selectFrom("checkins")
      .selectAll()
      .where("application_id", "=", appid)
      .execute();
    assert.ok(owner);
    const many = Array.from({ length: 2_500 }, () => ({ ...owner, id: test.app.ids.newId("Checkin") }));
    await test.app.database.write(async ({ queries }) => {
      for (let n = 0; n < many.length; n += 500) {
        await queries
          .insertInto("checkins")
          .values(many.slice(n, n + 500))
          .execute();
      }
    });
    await markDeleted(appid);

    const steps: number[] = [];
    const brokenOff = deleteApplicationRows(appid, test.app, {
      onStep(erased) {
        steps.push(erased);
        if (erased > 2_000) throw new Error("killed");
      },
    });
    await assert.rejects(brokenOff, /killed/);
    for (const [index, erased] of steps.entries()) assert.ok(erased - (steps[index - 1] ?? 0) <= 1_000);
    assert.equal((await countRows(appid))["checkins"], 501);

    await maintain(test.app);
    assert.deepEqual(await countRows(appid), {});
  });

  it("does not make maintenance touch live applications", async () => {
    const { appid } = await createFullApplication();
    await maintain(test.app);
    // Erased rows of other objects do not count as application data. Maintenance itself counts users, devices and check-ins.
    const { unfinished_erasures: _, ...lasting } = oneRowEach;
    assert.deepEqual(await countRows(appid), { ...lasting, kept_counts: 3 });
  });
});
