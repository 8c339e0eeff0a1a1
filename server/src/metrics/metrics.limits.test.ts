import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { until } from "../../test/until.ts";
import { maintain } from "../app/maintenance.ts";
import type { NewApplication } from "../applications/applications.store.ts";

const keysMax = 50;
const newKeysMax = 20;

let test: TestApp;
before(async () => {
  test = await startTestApp({
    METRIC_KEYS_PER_APPLICATION: String(keysMax),
    METRIC_NEW_KEYS_PER_HOUR: String(newKeysMax),
    RATE_LIMIT_EVENTS_PER_SECOND: "100",
  });
});
after(() => test.close());

const applicationFull = `An application has at most ${keysMax} distinct keys of events.`;
const deviceSpent = `A device may add at most ${newKeysMax} distinct keys of events per hour.`;

function report(token: string, key: string, body?: object): Promise<Answer> {
  return test.call(`POST /metrics/events/${encodeURIComponent(key)}`, { token, body });
}

function reportMany(token: string, keys: readonly string[], app = test): Promise<Answer> {
  return app.call("POST /metrics/events", { token, body: { events: keys.map((key) => ({ key })) } });
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
}

function rejections(message: string, from: number, to: number): object[] {
  return Array.from({ length: to - from }, (_, index) => ({ index: from + index, error: "RequestTooLarge", message }));
}

async function listKeys({ appid }: NewApplication): Promise<string[]> {
  await test.app.compactor.compact(appid);
  const { reads } = test.app.database;
  const rows = await reads.selectFrom("metric_keys").select("key").where("application_id", "=", appid).execute();
  return rows.map(({ key }) => key);
}

/** Fills an application up to its limit of keys. */
async function fill(application: NewApplication): Promise<void> {
  for (let done = 0; done < keysMax; done += newKeysMax) {
    const token = await test.registerDevice(application);
    const keys = names(`of ${done}`, Math.min(newKeysMax, keysMax - done));
    assertResult(await reportMany(token, keys), 201, { accepted: keys.length, rejected: [] });
  }
}

// spec/metrics#metric-storage-limits
describe("distinct keys of metric events: hostile.md 37", () => {
  it("are limited: a flood of new keys is refused, without effect on existing keys and other applications", async () => {
    const [application, other] = [await test.createApplication(), await test.createApplication()];
    await fill(application);
    const floods = await Promise.all(
      names("flood", 8).map(async (name) => reportMany(await test.registerDevice(application), names(name, 30))),
    );
    for (const flood of floods) {
      assertResult(flood, 201, { accepted: 0, rejected: rejections(applicationFull, 0, 30) });
    }
    const token = await test.registerDevice(application);
    assertError(await report(token, "one more"), 413, "RequestTooLarge", 1281, applicationFull);
    const mixed = await reportMany(token, ["of 0 1", "new", "of 40 2", "newer", "of 20 3"]);
    assertResult(mixed, 201, {
      accepted: 3,
      rejected: [...rejections(applicationFull, 1, 2), ...rejections(applicationFull, 3, 4)],
    });
    assert.equal((await report(token, "of 0 0")).status, 201);
    assert.equal((await listKeys(application)).length, keysMax);
    assert.equal((await report(token, "of 0 0")).status, 201); // whether compacted or not
    assert.equal((await report(await test.registerDevice(other), "one more")).status, 201);
    assert.deepEqual(await listKeys(other), ["one more"]);
  });

  it("are limited in total for concurrent devices and processes", async (t) => {
    const settings = { DATABASE_URL: test.config.databaseUrl, METRIC_KEYS_PER_APPLICATION: String(keysMax) };
    const second = await startTestApp(settings);
    t.after(() => second.close());
    const application = await test.createApplication();
    const tokens = await Promise.all(names("", 12).map(() => test.registerDevice(application)));
    const answers = await Promise.all(
      tokens.map((token, index) => reportMany(token, names(`of ${index}`, 10), index % 2 === 0 ? test : second)),
    );
    const accepted = answers.map(({ body }) => body.result.accepted);
    assert.deepEqual([accepted.reduce((sum, each) => sum + each, 0), (await listKeys(application)).length], [50, 50]);
  });

  it("are limited per device and hour, in one call or many, without effect on other devices", async () => {
    const application = await test.createApplication();
    const [token, neighbour] = [await test.registerDevice(application), await test.registerDevice(application)];
    const keys = names("key", newKeysMax + 3);
    const answer = await reportMany(token, [...keys, ...keys.slice(0, 2)]);
    const rejected = rejections(deviceSpent, newKeysMax, newKeysMax + 3);
    assertResult(answer, 201, { accepted: newKeysMax + 2, rejected });
    assertError(await report(token, "more"), 413, "RequestTooLarge", 1281, deviceSpent);
    assert.equal((await report(token, "key 0")).status, 201);
    assert.equal((await report(neighbour, "more")).status, 201);
    assert.equal((await report(token, "more")).status, 201); // exists now, because the neighbour added it
    test.advance(3_600_000 / newKeysMax);
    assert.equal((await report(token, "still more")).status, 201);
    assert.equal((await report(token, "too many")).status, 413);
  });

  it("do not increase by a batch that is rolled back, whose keys remain new", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    const requests = [
      { method: "POST", path: "/metrics/events/a" },
      { method: "POST", path: "/metrics/events/a" },
      { method: "GET", path: "/nothing" },
    ];
    const answer = await test.call("POST /batch", { token, body: { mode: "atomic", requests } });
    const statuses = answer.body.result.responses.map(({ status }: { status: number }) => status);
    assert.equal(statuses.includes(201), false, JSON.stringify(statuses));
    assert.deepEqual(await listKeys(application), []);
    await fill(application);
    assertError(
      await report(await test.registerDevice(application), "a"),
      413,
      "RequestTooLarge",
      1281,
      applicationFull,
    );
    assert.equal((await listKeys(application)).length, keysMax);
  });

  it("are reported with the index of the rejected event in the call", async () => {
    const token = await test.registerDevice();
    await reportMany(token, names("first", newKeysMax));
    const events = [{ key: "new" }, null, { key: "first 0" }, { key: "newer" }];
    const { body } = await test.call("POST /metrics/events", { token, body: { events } });
    assert.equal(body.result.accepted, 1);
    assert.deepEqual(
      body.result.rejected.map(({ index, error }: { index: number; error: string }) => [index, error]),
      [
        [0, "RequestTooLarge"],
        [1, "ParameterIncorrectFormat"],
        [3, "RequestTooLarge"],
      ],
    );
  });
});

// spec/limits#metric-event-limits
describe("rate limits count events, not calls: hostile.md 28, 37", () => {
  const many = (count: number) => Array<string>(count).fill("a");

  function assertLimited(answer: Answer, retryAfter: number): void {
    const message = "Too many calls. Try again after the time in Retry-After.";
    assertError(answer, 429, "RateLimitExceeded", 1282, message);
    assert.equal(answer.headers["retry-after"], String(retryAfter));
    assert.match(String(answer.headers["ratelimit-policy"]), /^"events";q=\d+;w=30$/);
  }

  async function countEvents({ appid }: NewApplication): Promise<number> {
    await test.app.compactor.compact(appid);
    const { reads } = test.app.database;
    const rows = await reads
      .selectFrom("metric_keys")
      .select("event_count")
      .where("application_id", "=", appid)
      .execute();
    return rows.reduce((sum, { event_count }) => sum + event_count, 0);
  }

  it("three thousand events in calls of a thousand are accepted; the next call gets 429 with Retry-After and stores nothing", async () => {
    const application = await test.createApplication();
    const [token, neighbour] = [await test.registerDevice(application), await test.registerDevice(application)];
    for (let call = 0; call < 3; call += 1) assert.equal((await reportMany(token, many(1_000))).status, 201);
    assertLimited(await reportMany(token, many(500)), 5);
    assertLimited(await report(token, "a"), 1);
    assert.equal((await report(neighbour, "a")).status, 201);
    assert.equal(await countEvents(application), 3_001);
    test.advance(5_000);
    assert.equal((await reportMany(token, many(499))).status, 201);
    assert.equal((await report(token, "a")).status, 201);
    assertLimited(await report(token, "a"), 1);
    assert.equal((await test.call("GET /devices/current", { token })).status, 200);
  });

  it("new devices of one address cannot evade its limit, nor devices of many addresses the application's limit", async () => {
    const application = await test.createApplication();
    let taken = 0;
    for (let device = 0; device < 6; device += 1) {
      const token = await test.registerDevice(application);
      for (let call = 0; call < 3; call += 1) if ((await reportMany(token, many(1_000))).status === 201) taken += 1;
    }
    assert.equal(taken, 15);
    assert.equal((await reportMany(await test.registerDevice(), many(1_000))).status, 201);
  });

  it("an event of many kilobytes counts as several events", async () => {
    const token = await test.registerDevice();
    const values = Object.fromEntries(names("value", 25).map((name) => [name, "x".repeat(1_000)]));
    const events = Array(35).fill({ key: "a", values });
    const statuses: number[] = [];
    for (let call = 0; call < 4; call += 1) {
      statuses.push((await test.call("POST /metrics/events", { token, body: { events } })).status);
    }
    assert.deepEqual(statuses, [201, 201, 201, 429]);
  });

  it("an event in a batch counts like an individually reported one", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    for (let call = 0; call < 2; call += 1) await reportMany(token, many(1_000));
    await reportMany(token, many(990));
    const requests = Array.from({ length: 12 }, () => ({ method: "POST", path: "/metrics/events/a" }));
    const { body } = await test.call("POST /batch", { token, body: { requests } });
    const statuses = body.result.responses?.map(({ status }: { status: number }) => status);
    assert.deepEqual(statuses, [...Array(10).fill(201), 429, 429], JSON.stringify(body).slice(0, 500));
  });
});

describe("stored bytes of one application: hostile.md 37", () => {
  const bytesMax = 30_000;
  const rule = `The metrics of an application take at most ${bytesMax} bytes (METRIC_BYTES_PER_APPLICATION).`;
  const full = `${rule} None of the events was stored.`;
  const dayMs = 86_400_000;

  function reportText(token: string, app: TestApp): Promise<Answer> {
    return app.call("POST /metrics/events", {
      token,
      body: {
        events: [
          { key: "a", values: { text: "x".repeat(1_000) } },
          { key: "b", values: { n: 1 } },
        ],
      },
    });
  }

  /** Returns the recorded size of an application's keys, and the actual size of their rows. */
  async function storedBytes({ appid }: NewApplication, app: TestApp): Promise<[counted: number, actual: number]> {
    const { rows } = await sql<{ counted: number | null; chunks: number | null; rollups: number | null }>`
      select (select sum(stored_bytes) from metric_keys where application_id = ${appid}) as counted,
        (select sum(octet_length(payload) - 1) from metric_chunks where application_id = ${appid}) as chunks,
        (select sum(octet_length(data)) from metric_rollups where application_id = ${appid}) as rollups`.execute(
      app.app.database.reads,
    );
    const [row] = rows;
    return [Number(row?.counted), Number(row?.chunks) + Number(row?.rollups)];
  }

  it("are limited, including the inbox, without effect on other applications; retention frees space", async (t) => {
    const app = await startTestApp({ METRIC_BYTES_PER_APPLICATION: String(bytesMax) });
    t.after(() => app.close());
    const token = await app.registerDevice();
    let accepted = 0;
    for (; (await reportText(token, app)).status === 201; accepted += 1) assert.ok(accepted < 100);
    assert.ok(accepted >= 25 && accepted <= 30, `${accepted}`);
    assertError(await reportText(token, app), 413, "RequestTooLarge", 1281, full);
    assertError(await app.call("POST /metrics/events/a", { token }), 413, "RequestTooLarge", 1281, full);
    const waiting = app.app.database.reads.selectFrom("metric_inbox").select("id");
    assert.equal((await waiting.execute()).length, accepted);
    const other = await app.registerDevice(await app.createApplication());
    assert.equal((await reportText(other, app)).status, 201);

    await maintain(app.app);
    app.advance(10_000);
    await reportText(token, app); // starts a count
    await sleep(200);
    assertError(await reportText(token, app), 413, "RequestTooLarge", 1281, full);

    app.advance(91 * dayMs);
    const late = await app.registerDevice();
    await maintain(app.app);
    assert.deepEqual(await storedBytes(app.application, app), [0, 0]);
    // The count must finish first.
    await until(async () => {
      app.advance(10_000);
      return (await reportText(late, app)).status === 201;
    });
  });

  it("match the rows after compaction, merging and retention, and are measured for keys from an earlier release", async (t) => {
    const app = await startTestApp();
    t.after(() => app.close());
    const token = await app.registerDevice();
    const check = async () => {
      const [counted, actual] = await storedBytes(app.application, app);
      assert.equal(counted, actual);
      return actual;
    };
    for (let round = 0; round < 3; round += 1) {
      await reportText(token, app);
      await app.call("POST /metrics/events/a", { token, body: { values: { text: "änd", n: round } } });
      await app.app.compactor.compact(app.application.appid);
      assert.ok((await check()) > 1_000 * (round + 1));
      app.advance(60_000);
    }
    app.advance(50 * dayMs);
    await reportText(await app.registerDevice(), app);
    await maintain(app.app);
    const before = await check();
    app.advance(41 * dayMs);
    await maintain(app.app);
    assert.ok((await check()) < before);

    await app.app.database.write(({ queries }) =>
      queries.updateTable("metric_keys").set({ stored_bytes: null }).execute(),
    );
    await maintain(app.app);
    assert.ok((await check()) > 0);
  });
});
