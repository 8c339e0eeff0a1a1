import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { sql } from "kysely";
import type { Database, Queries } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { openDatabase } from "../src/db/open.ts";
import { ApiError } from "../src/errors.ts";
import { createTestDatabase, type TestDatabase } from "./databases.ts";
import { startTestApp } from "./harness.ts";
import { type PostgresProxy, startPostgresProxy } from "./postgres-proxy.ts";

/** What becomes of work on PostgreSQL when connections break, transactions collide and servers change their part. */

const skip = process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL";
const isUnavailable = (error: unknown) => error instanceof ApiError && error.condition === "ServiceUnavailable";

describe("PostgreSQL", { skip }, () => {
  let folder: string;
  let testDatabase: TestDatabase;
  let proxy: PostgresProxy;
  /** Through the proxy. */
  let database: Database;
  /** Past it. */
  let direct: Database;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    testDatabase = await createTestDatabase(folder);
    direct = await openDatabase(testDatabase.url, { connectionsMax: 4, timeoutMs: 5_000 });
    await migrate(direct);
  });
  beforeEach(async () => {
    proxy = await startPostgresProxy(testDatabase.url);
    database = await openDatabase(proxy.url, { connectionsMax: 2, timeoutMs: 5_000 });
    await database.ping();
  });
  afterEach(async () => {
    await proxy.close();
    await database.close();
  });
  after(async () => {
    await direct.close();
    await testDatabase.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function insert(name: string, queries: Queries): Promise<void> {
    const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
    await queries.insertInto("applications").values(row).execute();
  }

  async function stored(start: string): Promise<string[]> {
    const rows = await direct.reads.selectFrom("applications").select("name").orderBy("name").execute();
    return rows.map(({ name }) => name).filter((name) => name.startsWith(start));
  }

  it("a transaction whose connection breaks between its statements is done again, and whole", async () => {
    let runs = 0;
    let effects = 0;
    await database.write(async ({ queries, afterCommit }) => {
      runs += 1;
      afterCommit(() => {
        effects += 1;
      });
      await insert("between 1", queries);
      if (runs === 1) {
        proxy.cut();
        await database.ping(); // by then the pool has opened that connection again
        await database.ping();
      }
      await insert("between 2", queries);
    });
    assert.deepEqual([runs, effects, await stored("between")], [2, 1, ["between 1", "between 2"]]);
  });

  it("a transaction whose connection breaks before the server has got its commit is done again", async () => {
    proxy.cutAt("insert into", "before", 1);
    await database.write(({ queries }) => insert("before", queries));
    assert.deepEqual(await stored("before"), ["before"]);
  });

  it("at the commit nobody knows: ServiceUnavailable, and it is not done again", async () => {
    let runs = 0;
    proxy.cutAt("commit", "answer", 1);
    const written = database.write(({ queries }) => {
      runs += 1;
      return insert("unknown", queries);
    });
    await assert.rejects(written, isUnavailable);
    assert.deepEqual([runs, await stored("unknown")], [1, ["unknown"]]);
  });

  it("a connection that breaks every time: ServiceUnavailable after a bounded number of tries", async () => {
    let runs = 0;
    proxy.cutAt("insert into", "before", Number.POSITIVE_INFINITY);
    const written = database.write(({ queries }) => {
      runs += 1;
      return insert("every time", queries);
    });
    await assert.rejects(written, isUnavailable);
    assert.equal(runs, 6);
    assert.deepEqual(await stored("every time"), []);
  });

  it("what belongs together is done again as a whole", async () => {
    let runs = 0;
    const value = await database.together(
      async () => {
        runs += 1;
        await database.write(({ queries }) => insert("together 1", queries));
        if (runs === 1) proxy.cutAt("release part", "before", 1);
        await database.write(({ queries }) => insert("together 2", queries));
        return runs;
      },
      { isSplittable: false },
    );
    assert.deepEqual([value, await stored("together")], [2, ["together 1", "together 2"]]);
  });

  it("a read whose connection breaks is read again, once", async () => {
    proxy.cutAt("select 17", "before", 1);
    const { rows } = await sql<{ n: number }>`select 17 as n`.execute(database.reads);
    assert.deepEqual([...rows], [{ n: 17 }]);
    proxy.cutAt("select 18", "before", Number.POSITIVE_INFINITY);
    await assert.rejects(sql`select 18`.execute(database.reads), isUnavailable);
  });

  it("two transactions that wait for each other both come to pass", async () => {
    await database.write(({ queries }) => insert("deadlock a", queries));
    await database.write(({ queries }) => insert("deadlock b", queries));
    const rename = (from: string, queries: Queries) =>
      sql`update applications set token_version = token_version + 1 where application_id = ${from}`.execute(queries);
    let waiting = 0;
    const bothHoldOne = Promise.withResolvers<void>();
    const update = (first: string, second: string) =>
      database.write(async ({ queries }) => {
        await rename(first, queries);
        waiting += 1;
        if (waiting === 2) bothHoldOne.resolve();
        await bothHoldOne.promise;
        await rename(second, queries);
      });
    await Promise.all([update("deadlock a", "deadlock b"), update("deadlock b", "deadlock a")]);
    const { rows } = await sql<{ token_version: number }>`
      select token_version from applications where name like 'deadlock%'`.execute(direct.reads);
    assert.deepEqual(
      rows.map(({ token_version }) => token_version),
      [2, 2],
    );
  });

  it("a serialisation failure is tried again", async () => {
    await database.write(({ queries }) => insert("serial", queries));
    let runs = 0;
    await database.write(async ({ queries }) => {
      runs += 1;
      await sql`set transaction isolation level repeatable read`.execute(queries);
      await sql`select 1 from applications`.execute(queries);
      const add = sql`update applications set token_version = token_version + 1 where name = 'serial'`;
      if (runs === 1) await direct.write((other) => add.execute(other.queries));
      await add.execute(queries);
    });
    const { rows } = await sql<{ token_version: number }>`
      select token_version from applications where name = 'serial'`.execute(direct.reads);
    assert.deepEqual([runs, ...rows], [2, { token_version: 2 }]);
  });

  it("goes on by itself where nothing could be written for a while, as on a standby after a failover", async () => {
    const name = new URL(testDatabase.url).pathname.slice(1);
    await sql`alter database ${sql.ref(name)} set default_transaction_read_only = on`.execute(direct.reads);
    proxy.cut(); // its new connections can only read
    await assert.rejects(
      database.write(({ queries }) => insert("standby", queries)),
      isUnavailable,
    );
    await direct.write(async ({ queries }) => {
      await sql`alter database ${sql.ref(name)} set default_transaction_read_only = off`.execute(queries);
    });
    let tries = 0;
    for (let isWritten = false; !isWritten; tries += 1) {
      assert.ok(tries < 5);
      isWritten = await database
        .write(({ queries }) => insert("primary", queries))
        .then(
          () => true,
          () => false,
        );
    }
    assert.deepEqual(await stored("primary"), ["primary"]);
  });

  it("statements that were prepared before a column was added go on, in transactions too", async () => {
    const whole = (queries: Queries) =>
      queries.selectFrom("applications").selectAll().where("name", "=", "x").execute();
    for (let connections = 0; connections < 4; connections += 1) {
      await database.write(async ({ queries }) => void (await whole(queries)));
    }
    await whole(database.reads);
    await sql`alter table applications add column of_a_later_version bigint`.execute(direct.reads);
    await database.write(async ({ queries }) => void (await whole(queries)));
    await database.together(
      async () => {
        await database.write(({ queries }) => insert("after the column", queries));
        await whole(database.reads);
      },
      { isSplittable: false },
    );
    await whole(database.reads);
    assert.deepEqual(await stored("after"), ["after the column"]);
  });

  it("a server answers 503 while the database is gone, and within a second of its return serves again", async () => {
    const server = await startTestApp({ DATABASE_URL: proxy.url });
    const { token } = await server.signUp();
    const checkIn = () => server.call("POST /checkins", { token, body: { location: "1,2" } });
    assert.equal((await checkIn()).status, 201);
    for (const downMs of [0, 700]) {
      await proxy.close();
      const until = performance.now() + downMs;
      do {
        const answers = await Promise.all([1, 2, 3, 4].map(checkIn));
        for (const { status, headers } of answers) {
          assert.equal(status, 503);
          assert.ok(Number(headers["retry-after"]) > 0);
        }
      } while (performance.now() < until);
      await proxy.open();
      const backAt = performance.now();
      while ((await checkIn()).status !== 201) assert.ok(performance.now() - backAt < 1_000, "it takes too long");
      for (const { status } of await Promise.all([1, 2, 3, 4].map(checkIn))) assert.equal(status, 201);
    }
    await server.close();
  });
});
