import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { killRunningServers, startProgram } from "../../test/running-server.ts";
import { scrape } from "../../test/scrapes.ts";
import { startPlacing } from "./placing.ts";
import { lockLog } from "./positions.ts";

const skip = process.env["TEST_DATABASE_URL"] === undefined && "events of SQLite have positions at once";
const metricsToken = "a-token-for-scrapes";
const pollMs = 20;
const waitMsMax = 60_000;

// spec/events#backlog
describe("positions of the log on PostgreSQL", { skip }, () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp({ RATE_LIMITS: "off", METRICS_TOKEN: metricsToken });
  });
  after(async () => {
    killRunningServers();
    await test.close();
  });

  /** A user of a separate application, whose events are recorded. */
  async function startRecording(): Promise<{
    readonly appid: string;
    readonly application: Awaited<ReturnType<TestApp["createApplication"]>>;
    readonly user: TestUser;
  }> {
    const application = await test.createApplication();
    const user = await test.signUp(undefined, application);
    assert.equal((await test.call("GET /events", { token: user.token })).status, 200);
    return { appid: application.appid, application, user };
  }

  async function checkIn({ token }: TestUser): Promise<void> {
    const answer = await test.call("POST /checkins", { token, body: { location: "1,2" } });
    assert.equal(answer.status, 201, answer.text);
  }

  async function countRows(appid: string): Promise<{ readonly waiting: number; readonly placed: number }> {
    const { rows } = await sql<{ waiting: number; placed: number }>`
      select count(*) filter (where position is null) as waiting, count(position) as placed
      from events where application_id = ${appid}`.execute(test.app.database.reads);
    return { waiting: Number(rows[0]?.waiting), placed: Number(rows[0]?.placed) };
  }

  const untilPlaced = (appid: string) => until(async () => (await countRows(appid)).waiting === 0);

  /** Locks the log like a session that assigns positions, until the returned function is called. */
  async function lock(appid: string): Promise<() => Promise<void>> {
    const locked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const transaction = test.app.database.write(async ({ queries }) => {
      await lockLog(appid, test.app.database, queries);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    return async () => {
      released.resolve();
      await transaction;
    };
  }

  /** Copies an event of the log as events without a position. */
  async function addWaiting(appid: string, count: number): Promise<void> {
    const copies = sql`
      insert into events (application_id, id, type, at, object_id, changed, was_shown, is_shown)
      select ${appid}, 'evt_copy_' || copy, 'checkin.created', ${test.now()}, 'chk_copy', '', 0, 0
      from generate_series(1, ${count}::integer) as copy`;
    await test.app.database.write(({ queries }) => copies.execute(queries));
  }

  it("events get their positions without any reader, also in an atomic batch", async () => {
    const { appid, user } = await startRecording();
    await checkIn(user);
    const requests = [1, 2].map(() => ({ method: "POST", path: "/checkins", parameters: { location: "1,2" } }));
    const batch = { mode: "atomic", requests };
    assert.equal((await test.call("POST /batch", { token: user.token, body: batch })).status, 200);
    await untilPlaced(appid);
    assert.equal((await countRows(appid)).placed, 3);
  });

  it("events get their positions after another session releases the log", async () => {
    const { appid, user } = await startRecording();
    const release = await lock(appid);
    await checkIn(user); // is answered while the log is locked
    assert.deepEqual(await countRows(appid), { waiting: 1, placed: 0 });
    await release();
    await untilPlaced(appid);
  });

  it("another process assigns the positions of a killed process, and Prometheus reports the events until then", async (t) => {
    const { appid, user } = await startRecording();
    const { dataDir, databaseUrl, secrets } = test.config;
    const settings = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: `${secrets?.[0]}` };
    const release = await lock(appid);
    const killed = await startProgram(settings);
    const answer = await fetch(`http://127.0.0.1:${killed.port}/checkins`, {
      method: "POST",
      headers: { authorization: `Service ${user.token}`, "content-type": "application/json" },
      body: JSON.stringify({ location: "1,2" }),
    });
    assert.equal(answer.status, 201);
    await killed.end("SIGKILL");
    test.advance(600_000); // the lease of the killed process expires
    const placing = startPlacing(test.app);
    t.after(() => placing.stop());
    const scrapeUntil = (isReached: (rows: number, seconds: number) => boolean) =>
      until(async () => {
        const scraped = await scrape(test.port, metricsToken);
        const of = (name: string) => scraped.get(`rollcall_events_without_position${name}`) ?? Number.NaN;
        return isReached(of(""), of("_seconds"));
      });
    await scrapeUntil((rows, seconds) => rows === 1 && seconds > 500);
    assert.deepEqual(await countRows(appid), { waiting: 1, placed: 0 });
    await release();
    await untilPlaced(appid);
    await scrapeUntil((rows, seconds) => rows === 0 && seconds === 0);
  });

  it("one process looks for such events, and another one takes over when it stops", async (t) => {
    const { appid } = await startRecording();
    const [first, second] = [startPlacing(test.app), startPlacing(test.app)];
    t.after(() => Promise.all([first.stop(), second.stop()]));
    const holders = () =>
      sql<{ holder: string }>`select holder from leases where name = 'event positions' and ends_at > ${test.now()}`
        .execute(test.app.database.reads)
        .then(({ rows }) => rows.map(({ holder }) => holder));
    await until(async () => (await holders()).length === 1);
    const [holder] = await holders();
    await addWaiting(appid, 3);
    await untilPlaced(appid);
    assert.deepEqual(await holders(), [holder]);
    await Promise.all([first.stop(), second.stop()]);
    assert.deepEqual(await holders(), []);
  });

  it("a backlog of several thousand events delays the answers to writes, and every write is answered", async () => {
    const { appid, user } = await startRecording();
    const release = await lock(appid);
    await addWaiting(appid, 20_000);
    await release();
    await checkIn(user); // its process finds the backlog
    const { waitForBacklog } = test.app.eventLog;
    await until(async () => waitForBacklog(appid) !== undefined || (await countRows(appid)).waiting === 0);
    let written = 1;
    while (waitForBacklog(appid) !== undefined) {
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: 4 }, () => checkIn(user)));
      written += 4;
      const isOver = waitForBacklog(appid) === undefined;
      assert.ok(isOver || performance.now() - startedAt >= 100, "a write was answered before the backlog was over");
    }
    assert.ok(written > 1, "no backlog was found");
    await untilPlaced(appid);
    const { rows } = await sql<{ count: number; distinct: number; first: number; last: number }>`
      select count(*) as count, count(distinct position) as distinct, min(position) as first, max(position) as last
      from events where application_id = ${appid}`.execute(test.app.database.reads);
    const [{ count, distinct, first, last } = { count: 0, distinct: 0, first: 0, last: 0 }] = rows;
    const total = 20_000 + written;
    assert.deepEqual([count, distinct, first, last].map(Number), [total, total, 1, total]);
  });

  it("a backlog delays the registration of a device, a call without a caller", async (t) => {
    const { appid, application } = await startRecording();
    const placing = startPlacing(test.app); // as in every process: continues after a failed transaction
    t.after(() => placing.stop());
    await addWaiting(appid, 20_000);
    test.app.eventLog.place(appid);
    const { waitForBacklog } = test.app.eventLog;
    await until(async () => waitForBacklog(appid) !== undefined);
    const startedAt = performance.now();
    const body = { ...application, platform: "test" };
    assert.equal((await test.call("POST /devices", { body })).status, 201);
    const isOver = waitForBacklog(appid) === undefined;
    assert.ok(isOver || performance.now() - startedAt >= 100, "a device was registered before the backlog was over");
    await untilPlaced(appid);
  });

  it("a backlog of one application does not delay the writes of another", async () => {
    const { appid } = await startRecording();
    const other = await startRecording();
    await addWaiting(appid, 5_000);
    test.app.eventLog.place(appid);
    await until(
      async () => test.app.eventLog.waitForBacklog(appid) !== undefined || (await countRows(appid)).waiting === 0,
    );
    assert.equal(test.app.eventLog.waitForBacklog(other.appid), undefined);
    await checkIn(other.user);
    await untilPlaced(appid);
  });
});

async function until(isReached: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + waitMsMax;
  while (!(await isReached())) {
    assert.ok(performance.now() < endsAt, "the condition was not reached in time");
    await sleep(pollMs);
  }
}
