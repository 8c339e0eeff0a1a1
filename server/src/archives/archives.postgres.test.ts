import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { loadSecrets } from "../config/server-secret.ts";
import { migrate } from "../db/migrate.ts";
import { migrations } from "../db/migrations/list.ts";
import { openSnapshot } from "../db/open.ts";
import type { Snapshot } from "../db/snapshot.ts";
import { backUp } from "./backup.ts";

/** Backups of PostgreSQL under broken connections and concurrent migrations. */
describe("a backup of PostgreSQL", {
  skip: process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL",
}, () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp();
    await test.registerDevice();
    const texts = { actor_id: "", actor_name: "", application_id: "", target: "", address: "", request_id: "" };
    const rows = Array.from({ length: 300 }, (_, index) => {
      return { ...texts, id: `aud_${index}`, at: 0, actor_kind: "cli" as const, action: "x", details: "{}" };
    });
    await test.app.database.write(({ queries }) => queries.insertInto("audit_log").values(rows).execute());
  });
  after(() => test.close());

  /** Terminates the connections of archives, and waits until they are gone. */
  async function cut(): Promise<void> {
    const { reads } = test.app.database;
    const archiving = sql`datname = current_database() and application_name = 'rollcall archive'`;
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${archiving}`.execute(reads);
    for (;;) {
      const { rows } = await sql`select 1 from pg_stat_activity where ${archiving}`.execute(reads);
      if (rows.length === 0) return;
    }
  }

  async function countRows(snapshot: Snapshot, table: string, onRow = async () => {}): Promise<number> {
    let count = 0;
    for await (const _ of snapshot.rows(table)) {
      count += 1;
      if (count === 1) await onRow();
    }
    return count;
  }

  it("fails without a crash if its connection breaks between two tables", async () => {
    const { app, config } = test;
    const archive = backUp(config, { ...app, secrets: loadSecrets(config) });
    await archive.next(); // reads the head
    await cut();
    const rest = async () => {
      while ((await archive.next()).done !== true);
    };
    await assert.rejects(rest());
  });

  it("does not treat a table as complete if the connection broke while the table was read", async () => {
    const snapshot = await openSnapshot(test.config.databaseUrl);
    try {
      await assert.rejects(countRows(snapshot, "audit_log", cut));
      await assert.rejects(countRows(snapshot, "applications"));
    } finally {
      await snapshot.close();
    }
  });

  it("has one schema, and blocks a migration until its rows are read", async () => {
    const { app, config } = test;
    const snapshot = await openSnapshot(config.databaseUrl);
    const later = {
      name: "9999-later",
      statements: () => [sql`alter table devices add column later integer not null default 0`],
    };
    let isMigrated = false;
    const migrated = migrate(app.database, undefined, { list: [...migrations, later] }).then(() => {
      isMigrated = true;
    });
    const { reads } = app.database;
    const waiting = sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like 'alter table devices%'`;
    while (!isMigrated && (await waiting.execute(reads)).rows.length === 0);
    for await (const row of snapshot.rows("devices")) assert.ok(!("later" in row));
    assert.equal(isMigrated, false);
    await snapshot.close();
    await migrated;
  });
});
