import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { sql } from "kysely";
import { archivedTables } from "../src/archives/tables.ts";
import type { Database } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { migrations } from "../src/db/migrations/list.ts";
import type { Migration } from "../src/db/migrations/migration.ts";
import { openDatabase } from "../src/db/open.ts";
import { loadEarlierDeployment } from "./before-baseline.ts";
import { createTestDatabase } from "./databases.ts";
import { readTables } from "./full-application.ts";
import { longSessions, startTestApp } from "./harness.ts";
import { runProgram } from "./running-server.ts";

/** Databases from before the migration baseline. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const drops: (() => Promise<void>)[] = [];
after(async () => {
  for (const drop of drops) await drop();
  rmSync(folder, { recursive: true, force: true });
});

async function createEarlierDeployment() {
  const { url, drop } = await createTestDatabase(mkdtempSync(join(folder, "database-")));
  drops.push(drop);
  const { tables, ...facts } = await loadEarlierDeployment(url);
  return { url, ...facts, tables: archivedTables.filter((table) => tables.includes(table)) };
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(url, { connectionsMax: 2, timeoutMs: 5_000 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function readRecord({ reads }: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name`.execute(reads);
  return rows.map(({ name }) => name);
}

const lastReplaced = "0059-operated-people";
/** The baseline without later migrations. */
const baselineOnly = migrations.slice(0, 1);
const next: Migration = {
  name: "0060-next",
  statements: ({ text }) => [sql`alter table users add column next ${text}`],
};

describe("a database of the last version before the baseline", () => {
  it("is accepted, with its rows and its recorded migrations unchanged", async () => {
    const { url, tables } = await createEarlierDeployment();
    const rows = await readTables(url, tables);
    await withDatabase(url, async (database) => {
      const record = await readRecord(database);
      assert.ok(record.length > 50 && record.at(-1) === lastReplaced);
      const fail = () => assert.fail("is neither empty nor newer");
      const options = { list: baselineOnly, onNewer: fail, onMigration: fail, onEmpty: fail };
      assert.deepEqual(await migrate(database, async () => fail(), options), []);
      assert.deepEqual(await readRecord(database), record);
    });
    assert.deepEqual(await readTables(url, tables), rows);
    const empty = Object.keys(rows).filter((table) => rows[table]?.length === 0);
    assert.deepEqual(empty, [], "tables without rows in the fixture");
  });

  it("is migrated further, with new records after the old ones", async () => {
    const { url } = await createEarlierDeployment();
    await withDatabase(url, async (database) => {
      const record = await readRecord(database);
      assert.deepEqual(await migrate(database, undefined, { list: [...baselineOnly, next] }), [next.name]);
      assert.deepEqual(await readRecord(database), [...record, next.name]);
      const newer: string[] = [];
      const onNewer = (names: readonly string[]) => newer.push(...names);
      assert.deepEqual(await migrate(database, undefined, { list: baselineOnly, onNewer }), []);
      assert.deepEqual(newer, [next.name]);
    });
  });

  it("is served: tokens, passwords, sessions and objects are valid", async (t) => {
    const { url, appid, appkey, user, operator, checkinId } = await createEarlierDeployment();
    const test = await startTestApp({ DATABASE_URL: url, ...longSessions });
    t.after(test.close);
    const succeed = async (operation: string, token: string, body?: object) => {
      const answer = await test.call(operation, { token, ...(body && { body }) });
      assert.ok(answer.status < 300, `${operation}: ${answer.text}`);
      return answer.body.result;
    };
    const me = await succeed("GET /users/me", user.token);
    assert.deepEqual([me.userName, me.tag], [user.name, 'a\\b"c\n']);
    const checkin = await succeed(`GET /checkins/${checkinId}`, user.token);
    assert.equal(checkin.comment, "x".repeat(3_000));
    assert.equal((await succeed(`GET /metadata/${checkinId}/a`, user.token)).value, 1.7976931348623157e308);
    const credentials = { username: user.name, password: user.password };
    const { accessToken } = await succeed("POST /users/login", user.deviceToken, credentials);
    const { id } = await succeed("POST /checkins", accessToken, { location: "1,2" });
    await succeed(`GET /checkins/${id}`, user.token);
    const device = await test.call("POST /devices", { body: { appid, appkey, platform: "test" } });
    assert.equal(device.status, 201, device.text);
    assert.equal((await succeed(`GET /_/api/applications/${appid}`, operator.token)).name, "Full");
    const { name, password } = operator;
    const session = await test.call("POST /_/api/sessions", { body: { name, password } });
    assert.ok(session.status < 300, session.text);
  });
});

describe("a database of an older version", () => {
  const refusal =
    'DATABASE_URL: this database was last migrated by an older version (0058-arriving-applications), which this one cannot continue. Start the version of commit 2202da8f on it once, or run its "rollcall migrate". Then start this version.';

  it("is refused by every program, and does not change", async () => {
    const { url, tables } = await createEarlierDeployment();
    await withDatabase(url, ({ write }) =>
      write(({ queries }) => sql`delete from schema_migrations where name = ${lastReplaced}`.execute(queries)),
    );
    const rows = await readTables(url, tables);
    const settings = { DATA_DIR: folder, DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests" };
    for (const [program, args] of [
      ["src/main.ts", []],
      ["src/cli/cli.ts", ["migrate"]],
      ["src/cli/cli.ts", ["apps", "list"]],
    ] as const) {
      const { code, stdout, stderr } = await runProgram(program, [...args], { ...settings, PORT: "0" });
      assert.deepEqual([code, stdout, stderr.replace(/^rollcall: /, "")], [1, "", `${refusal}\n`]);
    }
    assert.deepEqual(await readTables(url, tables), rows);
  });

  it("is refused even if its version did not refuse other versions", async () => {
    const { url, drop } = await createTestDatabase(mkdtempSync(join(folder, "database-")));
    drops.push(drop);
    await withDatabase(url, async (database) => {
      const { ddl } = database.dialect;
      await database.write(async ({ queries }) => {
        await sql`create table schema_migrations (name ${ddl.text} not null primary key) ${ddl.tableOptions}`.execute(
          queries,
        );
        await sql`insert into schema_migrations (name) values ('0001-foundation')`.execute(queries);
      });
      await assert.rejects(migrate(database), /^PlainFailure: .* an older version \(0001-foundation\), .* 2202da8f /);
      assert.deepEqual(await readRecord(database), ["0001-foundation"]);
    });
  });
});
