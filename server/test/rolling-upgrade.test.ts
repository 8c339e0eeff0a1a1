import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { sql } from "kysely";
import { insertApplication, type NewApplication } from "../src/applications/applications.store.ts";
import type { Database } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { migrations } from "../src/db/migrations/list.ts";
import type { Migration } from "../src/db/migrations/migration.ts";
import { openDatabase } from "../src/db/open.ts";
import { createClock } from "../src/lib/clock.ts";
import { createIdGenerator } from "../src/lib/ids.ts";
import { copyTestDatabase, type TestDatabase } from "./databases.ts";
import { send } from "./harness.ts";
import { killRunningServers, runProgram, startProgram } from "./running-server.ts";

/** Processes of this version, together with and after a version with more migrations. */

/** Changes that a migration of the next version may make: see `Migration`. */
const nextVersion: Migration = {
  name: "9998-next-version",
  statements: ({ text, integer, tableOptions }) => [
    sql`create table of_the_next_version (id ${text} not null primary key) ${tableOptions}`,
    ...["applications", "application_keys", "devices", "users", "user_tokens", "checkins", "metadata", "files"].flatMap(
      (table) => [
        sql`alter table ${sql.table(table)} add column next_version_text ${text}`,
        sql`alter table ${sql.table(table)} add column next_version_count ${integer} not null default 0`,
      ],
    ),
    sql`create index checkins_next_version on checkins (application_id, next_version_count, id)`,
  ],
};
const versionAfterNext: Migration = { name: "9999-version-after-next", refusesOlder: true, statements: () => [] };

let folder: string;
let testDatabase: TestDatabase;
let database: Database;
let application: NewApplication;
let settings: Readonly<Record<string, string>>;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  testDatabase = await copyTestDatabase(folder);
  settings = { DATA_DIR: folder, DATABASE_URL: testDatabase.url, ROLLCALL_SECRET: "a secret for tests" };
  database = await openDatabase(testDatabase.url, { connectionsMax: 2, timeoutMs: 5_000 });
  const [clock, ids] = [createClock(), createIdGenerator(Date.now)];
  application = await database.write(({ queries }) => insertApplication("Test", { clock, ids }, queries));
});
afterEach(killRunningServers);
after(async () => {
  await database.close();
  await testDatabase.drop();
  rmSync(folder, { recursive: true, force: true });
});

let users = 0;

/** Uses several features as an app does; fails if a call fails. */
async function useAll(port: number): Promise<void> {
  users += 1;
  const username = `user${users}`;
  const call = async (operation: string, body: unknown, token?: string) => {
    const [method = "", path = ""] = operation.split(" ");
    const answer = await send(port, method, path, { body, ...(token !== undefined && { token }) });
    assert.ok(answer.status < 300, `${operation}: ${answer.text}`);
    return answer.body.result;
  };
  const device = await call("POST /devices", { ...application, platform: "test" });
  const { accessToken: token } = await call("POST /users", { username, password: "password" }, device.accessToken);
  await call("POST /users/login", { username, password: "password" }, device.accessToken);
  const { id } = await call("POST /checkins", { location: "1,2", comment: "here" }, token);
  await call(`PATCH /checkins/${id}`, { comment: "there" }, token);
  await call(`PUT /metadata/${id}/key`, { value: "a" }, token);
  await call("GET /checkins?comment=there", undefined, token);
  await call("PATCH /users/me", { firstName: "Ann" }, token);
  await call("GET /users/me", undefined, token);
  const requests = [{ method: "POST", path: "/checkins", parameters: { location: "1,2" } }];
  await call("POST /batch", { mode: "atomic", requests }, token);
  await call(`DELETE /checkins/${id}`, undefined, token);
}

// spec/deployment#rolling-upgrades
describe("a rolling upgrade", () => {
  it("an older process serves during and after a newer one's migration; one that starts later serves, too, and logs a warning", async () => {
    const old = await startProgram(settings);
    await useAll(old.port);
    let isOver = false;
    const clients = [1, 2].map(async () => {
      while (!isOver) await useAll(old.port);
    });
    assert.deepEqual(await migrate(database, undefined, { list: [...migrations, nextVersion] }), [nextVersion.name]);
    await useAll(old.port);
    isOver = true;
    await Promise.all(clients);
    for (let more = 0; more < 3; more += 1) await useAll(old.port);

    const late = await startProgram(settings);
    await useAll(late.port);
    assert.match(late.output(), /"names":\["9998-next-version"\],"msg":"the database was migrated by a newer version"/);
    assert.doesNotMatch(old.output() + late.output(), /"msg":"request failed"/);
    for (const server of [old, late]) assert.equal(await server.end("SIGTERM"), 0);
  });

  it("a version that cannot serve with the schema does not start, and names the migration", async () => {
    await migrate(database, undefined, { list: [...migrations, nextVersion, versionAfterNext] });
    const { code, stderr } = await runProgram("src/main.ts", [], { ...settings, PORT: "0" });
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "The database was migrated by a newer version (9999-version-after-next), which this one cannot serve beside.\n",
    );
  });
});
