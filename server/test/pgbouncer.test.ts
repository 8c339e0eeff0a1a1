import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "../src/db/database.ts";
import { findDatabaseProblem, openDatabase } from "../src/db/open.ts";
import { createTestDatabase, type TestDatabase } from "./databases.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";
import { openStream } from "./event-streams.ts";
import { failureOf } from "./failing-starts.ts";
import { startTestApp, type TestApp } from "./harness.ts";
import { type Pgbouncer, pgbouncerIsMissing, startPgbouncer } from "./pgbouncer-server.ts";
import { runProgram } from "./running-server.ts";

/**
 * Two servers on one PostgreSQL through pgbouncer in transaction mode, with fewer sessions than they have connections.
 */

const sessions = 3;

/** Returns the settings for another process of the same deployment. */
function secretAndFolder({ config }: TestApp): Record<string, string> {
  return { DATA_DIR: config.dataDir, ROLLCALL_SECRET: config.secrets?.[0] ?? "" };
}

describe("through pgbouncer in transaction mode", { skip: pgbouncerIsMissing ?? false }, () => {
  let folder: string;
  let testDatabase: TestDatabase;
  let pgbouncer: Pgbouncer;
  let settings: Readonly<Record<string, string>>;
  let server: TestApp;
  let other: TestApp;
  /** A direct connection, without pgbouncer. */
  let direct: Database;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    testDatabase = await createTestDatabase(folder);
    pgbouncer = await startPgbouncer(testDatabase.url, sessions);
    settings = {
      DATABASE_URL: pgbouncer.throughIt(testDatabase.url),
      DATABASE_POOLER: "transaction",
    };
    server = await startTestApp(settings);
    other = await startTestApp(settings);
    direct = await openDatabase(testDatabase.url, { connectionsMax: 4, timeoutMs: 5_000 });
  });
  after(async () => {
    await server.close();
    await other.close();
    await direct.close();
    await pgbouncer.stop();
    await testDatabase.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("few sessions serve many concurrent calls of two servers, and no write is lost", async () => {
    const { token, deviceToken } = await server.signUp();
    const calls = Array.from({ length: 80 }, (_, n) => {
      const { call } = n % 2 === 0 ? server : other;
      const increment = () => call("POST /metadata/app/n/increment", { token });
      const checkIn = () => call("POST /checkins", { token, body: { location: "48.2,16.4", comment: `${n}` } });
      const search = () => call("GET /checkins?locationRange=48.2,16.4,500&comment=7", { token });
      const me = () => call("GET /users/me", { token });
      return [increment, checkIn, search, me][n % 4]?.();
    });
    const statuses = (await Promise.all(calls)).map((answer) => answer?.status);
    assert.deepEqual([...new Set(statuses)].sort(), [200, 201]);
    const { body } = await other.call("GET /metadata/app/n", { token });
    assert.equal(body.result.value, 20);
    assert.equal((await server.call("GET /checkins?pageSize=1000", { token })).body.result.pageResults.length, 20);
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'rollcall' and pid <> pg_backend_pid()
        and backend_type = 'client backend'`.execute(direct.reads);
    assert.ok((rows[0]?.count ?? 0) <= sessions + 4, "the sessions of pgbouncer and of this test");
    assert.equal((await other.call("GET /users/me", { token: deviceToken })).status, 403);
  });

  it("concurrent statements on connections that share few sessions are all answered", async () => {
    const options = { connectionsMax: 1, timeoutMs: 20_000, isPooled: true };
    const url = settings["DATABASE_URL"] ?? "";
    const clients = await Promise.all(Array.from({ length: 3 * sessions }, () => openDatabase(url, options)));
    const ask = ({ reads }: Database, n: number) =>
      (n % 3 === 0 ? sql<{ n: number }>`select 0 as n` : sql<{ n: number }>`select ${n}::int as n`).execute(reads);
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    const answers = await Promise.all(clients.flatMap((client) => numbers.map((n) => ask(client, n))));
    assert.deepEqual(
      answers.map(({ rows }) => rows[0]?.n),
      clients.flatMap(() => numbers.map((n) => (n % 3 === 0 ? 0 : n))),
    );
    await Promise.all(clients.map((client) => client.close()));
  });

  it("an atomic batch, and a call with an idempotency key, are one transaction each", async () => {
    const { token } = await server.signUp();
    const item = (key: string, parameters: unknown) => ({ key, method: "POST", path: "/checkins", parameters });
    const items = [item("a", { location: "1,2" }), item("b", { location: "not a place" })];
    const batch = await server.call("POST /batch", { token, body: { mode: "atomic", requests: items } });
    assert.equal(batch.status, 200);
    assert.equal((await server.call("GET /checkins", { token })).body.result.pageResults.length, 0);
    const keyed = { token, body: { location: "1,2" }, headers: { "idempotency-key": "once" } };
    const ids = [await server.call("POST /checkins", keyed), await other.call("POST /checkins", keyed)];
    assert.equal(ids[0]?.body.result.id, ids[1]?.body.result.id);
  });

  it("a token that one server has revoked is refused by the other on the next request", async () => {
    const { token } = await server.signUp();
    assert.equal((await other.call("GET /users/me", { token })).status, 200);
    assert.equal((await server.call("POST /users/me/logout", { token })).status, 200);
    assert.equal((await other.call("GET /users/me", { token })).status, 401);
  });

  it("streams receive events of the other server, and close when their user logs out there: spec/streams#other-processes", async () => {
    const user = await server.signUp();
    const stream = await openStream(server.port, "/events/stream", { token: user.token });
    assert.equal((await stream.next()).event, "ready");
    for (const tag of ["one", "two"]) {
      await other.call("POST /checkins", { token: user.token, body: { location: "1,2", tag } });
      assert.equal((await stream.next()).data.object.tag, tag);
    }
    assert.equal((await other.call("POST /users/me/logout", { token: user.token })).status, 200);
    await stream.closed();
    assert.equal(stream.messages.at(-1)?.data.reason, "tokenEnded");
  });

  it("the first stream of an application receives the events of a transaction that was already open: E27, hostile.md 49", async () => {
    const application = await server.createApplication("Quiet");
    const user = await server.signUp(undefined, application);
    const checkIn = async (tag: string): Promise<string> =>
      (await other.call("POST /checkins", { token: user.token, body: { location: "1,2", tag } })).body.result.id;
    const id = await checkIn("early");
    const [begun, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const written = other.app.database.write(async ({ queries }) => {
      const own = () =>
        queries.updateTable("checkins").where("application_id", "=", application.appid).where("id", "=", id);
      await queries.selectFrom("checkins").select("id").where("application_id", "=", application.appid).execute();
      begun.resolve();
      await mayGoOn.promise;
      await own().set({ tag: "late" }).execute();
      const event = { type: "checkin.changed", objectId: id, userId: user.id, changed: ["tag"] } as const;
      await other.app.events.record(application.appid, event, queries);
    });
    await begun.promise;
    let isReady = false;
    const opened = openStream(server.port, "/events/stream", { token: user.token }).then(async (stream) => {
      assert.equal((await stream.next()).event, "ready");
      isReady = true;
      return stream;
    });
    await Promise.race([opened, sleep(3_000)]);
    const wasReady = isReady;
    mayGoOn.resolve();
    await written;
    const stream = await opened;
    const last = await checkIn("last");
    const told = (await stream.until(({ data }) => data.objectID === last)).slice(0, -1);
    if (wasReady)
      assert.deepEqual(
        told.map(({ data }) => data.type),
        ["checkin.changed"],
      );
    stream.cut();
  });

  it("PostgreSQL cancels a statement after its timeout, in that transaction only", async () => {
    const { token, id } = await server.signUp();
    const impatient = await startTestApp({ ...settings, DATABASE_TIMEOUT_MS: "700" });
    const change = (app: TestApp) => app.call("PATCH /users/me", { token, body: { firstName: "A" } });
    await direct.write(async ({ queries }) => {
      await sql`select 1 from users where id = ${id} for update`.execute(queries);
      const began = performance.now();
      assert.equal((await change(impatient)).status, 503);
      assert.ok(performance.now() - began < 30_000); // far below the timeout of the other servers
    });
    assert.equal((await change(impatient)).status, 200);
    await impatient.close();
    const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(
      server.app.database.reads,
    );
    assert.equal(rows[0]?.statement_timeout, "0");
  });

  it("an idle transaction does not hold its locks", async () => {
    const { token, id } = await server.signUp();
    const idle = await openDatabase(settings["DATABASE_URL"] ?? "", {
      connectionsMax: 2,
      timeoutMs: 200,
      isPooled: true,
    });
    const written = idle.write(async ({ queries }) => {
      await sql`select 1 from users where id = ${id} for update`.execute(queries);
      assert.equal((await server.call("PATCH /users/me", { token, body: { firstName: "A" } })).status, 200);
      await sql`select 1`.execute(queries);
    });
    await assert.rejects(written, { condition: "ServiceUnavailable" });
    await idle.close();
  });

  it("backup works, and is in the audit log; restore needs a direct connection", async () => {
    const file = join(folder, "backup.tar");
    const run = (...args: string[]) => runProgram("src/cli/cli.ts", args, { ...settings, ...secretAndFolder(server) });
    const { code, stderr } = await run("backup", file, "--fast");
    assert.deepEqual([code, stderr], [0, ""]);
    const { rows } = await sql`select 1 from audit_log where action = 'backup'`.execute(direct.reads);
    assert.equal(rows.length, 1);
    const restored = await run("restore", file, "--force");
    assert.equal(restored.code, 1);
    assert.match(restored.stderr, /PostgreSQL's own address/);
  });

  it("the server does not start without DATABASE_POOLER, and prints the reason", async () => {
    const { code, stderr } = await runProgram("src/main.ts", [], {
      ...settings,
      DATABASE_POOLER: "none",
      DATA_DIR: folder,
      ROLLCALL_SECRET: "a secret for tests",
    });
    assert.equal(code, 1);
    assert.match(stderr, /unsupported startup parameter: statement_timeout/);
  });
});

describe("a pooler in transaction mode without DATABASE_POOLER", { skip: pgbouncerIsMissing ?? false }, () => {
  const advice = /^DATABASE_URL.* pooler.*DATABASE_POOLER=transaction/;
  let deployment: TestDeployment;
  before(async () => {
    deployment = await createTestDeployment();
  });
  after(() => deployment.remove());

  // spec/deployment#databases-that-are-refused
  for (const { name, size, lines } of [
    { name: "that refuses parameters of the session", size: sessions, lines: [] },
    {
      name: "that ignores them",
      size: sessions,
      lines: ["ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout"],
    },
    {
      name: "with one connection",
      size: 1,
      lines: ["ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout"],
    },
    {
      name: "that gives out its connections in turn",
      size: 2,
      lines: [
        "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout",
        "server_round_robin = 1",
        "min_pool_size = 2",
      ],
    },
  ]) {
    it(`${name} is recognized by a start and by doctor`, async (t) => {
      const pgbouncer = await startPgbouncer(deployment.settings.DATABASE_URL, size, lines);
      t.after(() => pgbouncer.stop());
      const given = { ...deployment.settings, DATABASE_URL: pgbouncer.throughIt(deployment.settings.DATABASE_URL) };
      assert.match(await failureOf(given), advice);
      const { stdout } = await runProgram("src/cli/cli.ts", ["doctor"], given);
      assert.match(stdout, /^fail {2}database {4}DATABASE_URL.* pooler.*DATABASE_POOLER=transaction/m);
    });
  }

  it("in session mode is used like PostgreSQL itself", async (t) => {
    const pgbouncer = await startPgbouncer(deployment.settings.DATABASE_URL, 20, [
      "ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout",
      "pool_mode = session",
    ]);
    t.after(() => pgbouncer.stop());
    const url = pgbouncer.throughIt(deployment.settings.DATABASE_URL);
    assert.equal(await findDatabaseProblem(url, { timeoutMs: 60_000 }), undefined);
  });
});
