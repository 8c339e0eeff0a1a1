import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { type Answer, longSessions, startTestApp, type TestApp } from "../../../test/harness.ts";
import { maintain } from "../../app/maintenance.ts";
import type { NewApplication } from "../../applications/applications.store.ts";
import { updateApplicationSettings } from "../../tenancy/application-settings.ts";

const hour = 3_600_000;
const day = 24 * hour;

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp(longSessions);
  operator = (await test.createOperator()).token;
});
after(() => test.close());

function read({ appid }: NewApplication, path: string): Promise<Answer> {
  return test.call(`GET /_/api/applications/${appid}/metrics${path}`, { token: operator });
}

const tables = ["metric_inbox", "metric_batches", "metric_handles", "metric_chunks", "metric_rollups", "metric_keys"];

async function countRows({ appid }: NewApplication): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where application_id = ${appid}`.execute(
      test.app.database.reads,
    );
    counts[table] = Number(rows[0]?.count);
  }
  return counts;
}

async function total(application: NewApplication, interval: string): Promise<number> {
  const { body } = await read(
    application,
    `/a?interval=${interval}&from=${test.now() - 60 * day}&to=${test.now() + day}`,
  );
  const points: { count: number }[] = body.result.series[0].points;
  return points.reduce((sum, { count }) => sum + count, 0);
}

// spec/metrics#metric-retention
describe("metrics retention", () => {
  it("deletes events completely 90 days after they happened, not earlier", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const start = test.now();
    const events = [0, 1, 29].map((days) => ({ key: "a", timestamp: start - days * day, values: { b: "c", d: 1 } }));
    await test.call("POST /metrics/events", { token, body: { events } });
    const single = await test.call("POST /metrics/events/a", { token });
    const total = async () => (await read(application, "")).body.result.pageResults[0]?.count ?? 0;
    const listed = async () => (await read(application, "/a/events")).body.result?.pageResults.length ?? 0;
    for (const [days, count] of [
      [0, 4],
      [61 - 1 / 24, 4],
      [61 + 1, 3],
      [89, 3],
      [90 - 1 / 24, 2],
      [90 + 1, 0],
    ] as const) {
      test.advance(start + days * day - test.now());
      await maintain(test.app);
      assert.deepEqual([days, await total(), await listed()], [days, count, count]);
    }
    test.advance(day);
    await maintain(test.app);
    assert.deepEqual(await countRows(application), Object.fromEntries(tables.map((table) => [table, 0])));
    const again = await test.registerDevice(application);
    const ended = await test.call(`DELETE /metrics/events/${single.body.result.id}`, { token: again });
    assert.equal(ended.status, 404);
  });

  it("follows each application's setting of days", async () => {
    const [short, long] = [await test.createApplication(), await test.createApplication()];
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(short.appid, { oidc: {}, retention: { metricsDays: 10 } }, queries),
    );
    for (const application of [short, long]) {
      const token = await test.registerDevice(application);
      const events = Array.from({ length: 20 }, (_, days) => ({ key: "a", timestamp: test.now() - days * day }));
      await test.call("POST /metrics/events", { token, body: { events } });
      await test.call("POST /metrics/events/old", { token, body: { timestamp: "2001-01-01" } });
    }
    await maintain(test.app);
    assert.ok([10, 11].includes(await total(short, "day")));
    assert.equal(await total(long, "day"), 20);
    assert.equal(await total(long, "hour"), 20);
    for (const application of [short, long]) assert.equal((await read(application, "/old")).status, 404);
  });

  it("deletes many rows in bounded steps, and can be stopped and resumed", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    const events = Array.from({ length: 700 }, (_, hours) => ({
      key: "a",
      timestamp: test.now() - hours * hour,
      values: { b: `${hours % 3}` },
    }));
    await test.call("POST /metrics/events", { token, body: { events } });
    await test.app.compactor.compact(application.appid);
    const before = await countRows(application);
    assert.ok((before["metric_rollups"] ?? 0) >= 2 * 700 && (before["metric_chunks"] ?? 0) >= 700);
    test.advance(200 * day);
    await assert.rejects(maintain(test.app, AbortSignal.abort()));
    assert.deepEqual(await countRows(application), before);
    await maintain(test.app);
    assert.equal((await countRows(application))["metric_rollups"], 0);
    assert.equal((await countRows(application))["metric_chunks"], 0);
  });

  it("merges the small chunks of an hour into one that contains the same events", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    for (let round = 0; round < 5; round += 1) {
      for (let n = 0; n < 3; n += 1) {
        await test.call("POST /metrics/events/a", { token, body: { value: `${round} ${n}`, timestamp: n } });
      }
      await test.app.compactor.compact(application.appid);
    }
    assert.equal((await countRows(application))["metric_chunks"], 1);
    const { pageResults } = (await read(application, "/a/events?pageSize=1000")).body.result;
    const values = pageResults.map((event: { values: { value: string } }) => event.values.value);
    assert.equal(new Set(values).size, 15);
  });
});
