import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { openStream, type TestStream } from "./event-streams.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { type PostgresProxy, startPostgresProxy } from "./postgres-proxy.ts";

/** Streams of one process while another process writes, on PostgreSQL. */

const skip = process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL";
const common = { RATE_LIMITS: "off" };
/** Longer than any test takes. */
const neverMs = "3600000";

// spec/streams#other-processes
describe("events of other processes: E9, hostile.md 51", { skip }, () => {
  let writer: TestApp;
  let ann: TestUser;
  let proxy: PostgresProxy;
  const processes: TestApp[] = [];
  const streams: TestStream[] = [];
  before(async () => {
    writer = await startTestApp(common);
    ann = await writer.signUp("Ann");
    proxy = await startPostgresProxy(writer.config.databaseUrl);
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.cut();
    for (const process of processes.splice(0)) await process.close();
  });
  after(async () => {
    await proxy.close();
    await writer.close();
  });

  async function start(settings: Readonly<Record<string, string>> = {}): Promise<TestApp> {
    const process = await startTestApp({ DATABASE_URL: writer.config.databaseUrl, ...common, ...settings });
    processes.push(process);
    return process;
  }

  /**
   * Opens a stream, until it is ready, at a process that reads the log only after a notification.
   */
  async function listen({ port }: TestApp, token = ann.token): Promise<TestStream> {
    const stream = await openStream(port, "/events/stream?types=checkin.*", { token });
    streams.push(stream);
    assert.equal((await stream.next()).event, "ready");
    return stream;
  }

  async function checkIn(tag: string, { call }: TestApp = writer): Promise<void> {
    assert.equal((await call("POST /checkins", { token: ann.token, body: { location: "1,2", tag } })).status, 201);
  }

  /** Counts the writer's database connections that listen. */
  async function countListening(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from pg_stat_activity
      where datname = current_database() and query like 'listen %'`.execute(writer.app.database.reads);
    return rows[0]?.count ?? 0;
  }

  async function until(isReached: () => Promise<boolean>): Promise<void> {
    while (!(await isReached())) await sleep(20);
  }

  it("a notification brings an event to a process that does not poll", async () => {
    const stream = await listen(await start({ EVENTS_POLL_MS: neverMs }));
    await until(async () => (await countListening()) === 1);
    await checkIn("first");
    assert.equal((await stream.next()).data.object.tag, "first");
    await checkIn("second");
    assert.equal((await stream.next()).data.object.tag, "second");
  });

  it("a connection that was cut listens again, and misses no event that was written in between", async () => {
    const stream = await listen(await start({ EVENTS_POLL_MS: neverMs, DATABASE_URL: proxy.url }));
    await until(async () => (await countListening()) === 1);
    await proxy.close();
    await until(async () => (await countListening()) === 0);
    await checkIn("while it was cut");
    await proxy.open();
    assert.equal((await stream.next()).data.object.tag, "while it was cut");
  });

  it("without notifications events arrive with the next poll, and writes succeed", async () => {
    const { reads } = writer.app.database;
    await sql`create function public.pg_notify(text, text) returns void language plpgsql as $$
      begin raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$`.execute(
      reads,
    );
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(reads);
    const database = sql.id(`${rows[0]?.name}`);
    await sql`alter database ${database} set search_path = public, pg_catalog`.execute(reads);
    try {
      const [unheard, reader] = [await start(), await start()];
      const stream = await listen(reader);
      await checkIn("unheard", unheard);
      assert.equal((await stream.next()).data.object.tag, "unheard");
      await until(async () =>
        unheard.logLines.some(({ msg }) => msg === "other processes could not be notified of new events"),
      );
    } finally {
      await sql`alter database ${database} reset search_path`.execute(reads);
      await sql`drop function public.pg_notify(text, text)`.execute(reads);
    }
  });

  it("a process listens on one connection, regardless of the number of its streams", async () => {
    const reader = await start();
    await Promise.all(Array.from({ length: 5 }, () => listen(reader)));
    await until(async () => (await countListening()) > 0);
    assert.equal(await countListening(), 1);
  });

  it("with DATABASE_POOLER=transaction no connection listens, and events arrive with the next poll", async () => {
    const pooled = { DATABASE_POOLER: "transaction" };
    const [reader, other] = [await start(pooled), await start(pooled)];
    assert.equal(reader.config.eventsPollMs, 50);
    const stream = await listen(reader);
    await checkIn("through a pooler", other);
    assert.equal((await stream.next()).data.object.tag, "through a pooler");
    assert.equal(await countListening(), 0);
  });
});
