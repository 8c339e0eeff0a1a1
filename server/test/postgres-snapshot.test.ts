import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { sql } from "kysely";
import { PlainFailure } from "../src/config/failure.ts";
import type { Database } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { openDatabase, openSnapshot } from "../src/db/open.ts";
import type { Snapshot } from "../src/db/snapshot.ts";
import { createTestDatabase, type TestDatabase } from "./databases.ts";
import { type PostgresProxy, startPostgresProxy } from "./postgres-proxy.ts";

/** A read for a backup or a move whose connection breaks, or whose server has a timeout. */

const skip = process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL";

describe("a snapshot of PostgreSQL", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  let testDatabase: TestDatabase;
  let database: Database;
  let proxy: PostgresProxy;
  let snapshot: Snapshot;
  before(async () => {
    testDatabase = await createTestDatabase(folder);
    database = await openDatabase(testDatabase.url, { connectionsMax: 2, timeoutMs: 5_000 });
    await migrate(database);
    await sql`insert into leases (name, holder, ends_at) select n, '', 0 from generate_series(1, 500) as n`.execute(
      database.reads,
    );
  });
  beforeEach(async () => {
    proxy = await startPostgresProxy(testDatabase.url);
  });
  afterEach(async () => {
    await snapshot.close();
    await proxy.close();
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Lets other statements complete. */
  async function pass(seconds: number): Promise<void> {
    await sql`select pg_sleep(${seconds})`.execute(database.reads);
  }

  async function count(whileReading: (count: number) => Promise<void>): Promise<number> {
    let rows = 0;
    for await (const _ of snapshot.rows("leases")) {
      rows += 1;
      await whileReading(rows);
    }
    return rows;
  }

  it("reports a connection that breaks in the middle of a table, instead of truncating the table", async () => {
    snapshot = await openSnapshot(proxy.url);
    const counted = count(async (rows) => {
      if (rows !== 70) return;
      proxy.cut();
      await pass(0.05);
    });
    await assert.rejects(counted, PlainFailure);
  });

  it("fails, without effect on other work, if its connection breaks between two tables", async () => {
    snapshot = await openSnapshot(proxy.url);
    assert.equal(await count(async () => {}), 500);
    proxy.cut();
    await pass(0.05);
    await assert.rejects(
      count(async () => {}),
      PlainFailure,
    );
  });

  it("is not subject to the timeouts of the database", async () => {
    const name = sql.ref(new URL(testDatabase.url).pathname.slice(1));
    await sql`alter database ${name} set idle_in_transaction_session_timeout = 50`.execute(database.reads);
    snapshot = await openSnapshot(testDatabase.url);
    await pass(0.2);
    assert.equal(await count(async () => {}), 500);
  });
});
