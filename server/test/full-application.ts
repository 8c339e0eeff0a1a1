import assert from "node:assert/strict";
import { archivedTables } from "../src/archives/tables.ts";
import { countAuditLog } from "../src/audit/audit.counts.ts";
import { openSnapshot } from "../src/db/open.ts";
import type { StoredRow } from "../src/db/snapshot.ts";
import { leaseMsMax } from "../src/jobs/leases.ts";
import { ownedIdKinds } from "../src/lib/kinds.ts";
import type { TestApp, TestUser } from "./harness.ts";
import { createOwnedObject, ownedSeeds } from "./owned-seeds.ts";
import { begin, sendBytes } from "./tus.ts";
import { dataPart, png, upload } from "./uploads.ts";

/** The audit log is counted by the hour, after the end of the hour. */
const twoHoursMs = 7_200_000;

/** An application with data of every kind. */
export interface FullApplication {
  readonly jane: TestUser;
  readonly john: TestUser;
  readonly checkinId: string;
  readonly blobId: string;
  readonly blob: Buffer;
  readonly pictureId: string;
  readonly picture: Buffer;
}

/** Fills an empty application through the API, and with statements for data that would take too long. */
export async function fillApplication(test: TestApp): Promise<FullApplication> {
  const { appid } = test.application;
  const [jane, john] = [await test.signUp("Jäne 𝕁"), await test.signUp("John")];
  const succeed = async (operation: string, token: string, body?: object, headers?: Record<string, string>) => {
    const answer = await test.call(operation, { token, ...(body && { body }), ...(headers && { headers }) });
    assert.ok(answer.status < 300, `${operation}: ${answer.text}`);
    return answer.body.result;
  };
  await succeed("PATCH /users/me", jane.token, { locationFuzzing: true, location: "48.2,16.37", tag: 'a\\b"c\n' });
  const checkin = { location: "1.25,-2.5", comment: "x".repeat(3_000), readPermissions: "App" };
  const { id: checkinId } = await succeed("POST /checkins", jane.token, checkin, { "idempotency-key": "once" });
  for (const kind of ownedIdKinds) {
    if (ownedSeeds[kind].bytes === undefined) await createOwnedObject(test, john.token, kind);
  }
  const place = { location: "1.25,-2.5", name: "Café", website: "https://example.org", isPublic: true };
  const { id: locationId } = await succeed("POST /locations", jane.token, place);
  await succeed("PATCH /devices/current", jane.deviceToken, { appVersion: "1.0" });
  await succeed("POST /checkins", john.token, { location: locationId });
  await succeed(`POST /locations/${locationId}/flag`, john.token, { flagReason: "closed" });
  await succeed("POST /users/me/identities/crm", jane.token, { identityId: "12" });
  await succeed(`PUT /metadata/${checkinId}/a`, jane.token, { value: 1.7976931348623157e308 });
  await succeed(`PUT /metadata/${checkinId}/b`, john.token, { value: { nested: [null, "ß"] } });
  await succeed("POST /devices/current/crashreports", jane.deviceToken, { stackTrace: "Error: x\n at f (a.js:1:1)" });
  await succeed("POST /metrics/events/level", jane.token, { value: 3 });
  const inbox = await test.app.database.reads
    .selectFrom("metric_inbox")
    .selectAll()
    .where("application_id", "=", appid)
    .execute();
  await test.app.compactor.compact(appid);

  const blob = Buffer.alloc(200_001, "bytes of a blob ");
  const picture = await png(60, 40);
  const { id: blobId } = await upload(test, jane.token, "/blobs", dataPart(blob));
  const { id: pictureId } = await upload(test, john.token, "/users/me/profilepicture", dataPart(picture));
  await upload(test, john.token, "/blobs", dataPart("x"));
  const path = await begin(test, john.token, 100);
  await sendBytes(test, john.token, path, 0, Buffer.alloc(40, 1));

  await test.app.database.write(async ({ queries }) => {
    const application_id = appid;
    await queries.insertInto("metric_inbox").values(inbox).execute(); // not compacted, because the compactor is not notified
    const reset = { application_id, user_id: john.id, digest: "d", tries_left: 3, expires_at: 9_007_199_254_740_991 };
    await queries.insertInto("password_resets").values(reset).execute();
    const verification = { ...reset, created_at: 0, address: "john@example.com" };
    await queries.insertInto("email_codes").values(verification).execute();
    const times = { due_at: test.now(), expires_at: 9_007_199_254_740_991 };
    const mail = { application_id, id: "mal_1", user_id: john.id, kind: "notice", sealed: "", attempts: 1, ...times };
    await queries.insertInto("mail_outbox").values(mail).execute();
    const limit = { application_id, subject: "s", times: "[1]", expires_at: times.expires_at };
    await queries.insertInto("mail_limits").values(limit).execute();
    await queries.insertInto("unfinished_erasures").values({ application_id, object_id: "chk_gone" }).execute();
    const batch = {
      application_id,
      id: "b",
      row_ids: "[]",
      done_until: "~",
      leased_until: test.now() + leaseMsMax / 2,
    };
    await queries.insertInto("metric_batches").values(batch).execute();
    await queries
      .insertInto("test_callers")
      .values({ application_id, device_id: "dev_gone", user_id: null, ends_at: 9_007_199_254_740_991 })
      .execute();
    const elsewhere = { application_id: "app_elsewhere", region: "eu", state: "there", changed_at: 0 } as const;
    await queries.insertInto("application_regions").values(elsewhere).execute();
  });
  const operator = await test.createOperator();
  await succeed(`POST /_/api/applications/${appid}/locations`, operator.token, { location: "0,180", name: "Public" });
  const hook = { url: "https://1.1.1.1/hook", types: ["*"], headers: { authorization: "Bearer" } };
  await succeed(`POST /_/api/applications/${appid}/webhooks`, operator.token, hook);
  await succeed(`PATCH /_/api/applications/${appid}`, operator.token, { name: "Full" }); // writes an entry of the audit log
  await countAuditLog(test.now() + twoHoursMs, test.app.database);
  await succeed("GET /events", jane.token); // starts the event log of the application
  await succeed("PUT /metadata/me/event", jane.token, { value: 1 });
  await test.app.eventLog.settle(appid);
  await test.app.statistics.save();
  return { jane, john, checkinId, blobId, blob, pictureId, picture };
}

/** Reads all rows of these tables as sorted strings, of one application or of all. */
export async function readTables(
  databaseUrl: string,
  tables: readonly string[] = archivedTables,
  applicationId?: string,
): Promise<Record<string, string[]>> {
  const snapshot = await openSnapshot(databaseUrl);
  const having: StoredRow = applicationId === undefined ? {} : { application_id: applicationId };
  const found: Record<string, string[]> = {};
  for (const table of tables) {
    const rows: string[] = [];
    for await (const row of snapshot.rows(table, having)) rows.push(JSON.stringify(sortedByName(row)));
    found[table] = rows.sort();
  }
  await snapshot.close();
  return found;
}

function sortedByName(row: StoredRow): object {
  const plain = Object.entries(row).map(([name, value]): [string, unknown] => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
  ]);
  return Object.fromEntries(plain.sort(([a], [b]) => (a < b ? -1 : 1)));
}
