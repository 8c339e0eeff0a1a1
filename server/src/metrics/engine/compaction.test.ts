import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../../test/harness.ts";
import {
  deleteApplicationRows,
  type NewApplication,
  updateApplicationDeleted,
} from "../../applications/applications.store.ts";
import type { Database } from "../../db/database.ts";
import { compactBatch } from "./compaction.ts";

const hour = 3_600_000;
const day = 24 * hour;

let test: TestApp;
let other: TestApp;
let operator: string;
let startedAt: number;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
  operator = (await test.createOperator()).token;
  startedAt = test.now();
});
after(async () => {
  await other.close();
  await test.close();
});

/** Reads everything that operators can read about an application's events. */
async function readAll({ appid }: NewApplication, from: TestApp): Promise<unknown> {
  const read = async (path: string) => {
    const { status, body } = await from.call(`GET /_/api/applications/${appid}/metrics${path}`, { token: operator });
    assert.equal(status, 200, path);
    return body.result;
  };
  const keys: { key: string; count: number; days: number[] }[] = (await read("?include=days")).pageResults;
  // Fixed, so that the results do not depend on the hour of the test run.
  const range = `from=${startedAt - 30 * day}&to=${startedAt + day}`;
  const all: unknown[] = [];
  for (const { key, count, days } of keys) {
    const paths = ["interval=day", "interval=hour", "interval=week&groupBy=world", "groupBy=world&value=score"];
    const series = await Promise.all(paths.map(async (query) => (await read(`/${key}?${range}&${query}`)).series));
    const events = (await read(`/${key}/events?pageSize=1000`)).pageResults;
    all.push({ key, count, activeDays: days.filter((each) => each > 0), series, events });
  }
  return all;
}

async function report(application: NewApplication, count: number, app = test): Promise<void> {
  const token = await app.registerDevice(application);
  const events = Array.from({ length: count }, (_, index) => ({
    key: `key-${index % 5}`,
    timestamp: test.now() - (index % 59) * hour,
    values: { score: index, world: `world ${index % 4}` },
  }));
  const { body } = await app.call("POST /metrics/events", { token, body: { events } });
  assert.equal(body.result.accepted, count);
}

class Killed extends Error {}

/** Returns a database that becomes unreachable after a number of transactions, as for a killed process. */
function failingAfter(transactions: number, database: Database): Database {
  let left = transactions;
  return {
    ...database,
    write(work) {
      left -= 1;
      return left < 0 ? Promise.reject(new Killed()) : database.write(work);
    },
  };
}

describe("metrics compaction", () => {
  it("a process killed after any transaction loses no event, and the next process counts each event once", async () => {
    const { database, ids, clock } = test.app;
    for (let transactions = 0, isKilled = true; isKilled; transactions += 1) {
      const application = await test.createApplication();
      for (let n = 0; n < 3; n += 1) await report(application, 200);
      const expected = await readAll(application, test);

      const failing = { database: failingAfter(transactions, database), ids, clock };
      isKilled = await compactBatch(application.appid, failing).then(
        () => false,
        (error) => {
          assert.ok(error instanceof Killed);
          return true;
        },
      );
      assert.deepEqual(await readAll(application, test), expected, `after ${transactions} transactions`);
      assert.ok(transactions < 100);
      if (!isKilled) {
        assert.ok(transactions > 5, "a batch has many transactions");
        break;
      }

      await test.app.compactor.compact(application.appid); // a second process, for which the batch is still leased
      assert.deepEqual(await readAll(application, test), expected);
      await report(application, 50);
      const more = await readAll(application, test);
      for (const app of [test, other]) app.advance(31_000);
      await other.app.compactor.compact(application.appid);
      const waiting = test.app.database.reads.selectFrom("metric_inbox").select("id");
      assert.equal((await waiting.where("application_id", "=", application.appid).execute()).length, 0);
      for (const app of [test, other]) assert.deepEqual(await readAll(application, app), more);
    }
  });

  it("a batch that is stopped can be continued immediately, and each event is counted once", async () => {
    const { database, ids, clock } = test.app;
    const application = await test.createApplication();
    await report(application, 400);
    const expected = await readAll(application, test);
    const stopping = new AbortController();
    let writes = 0;
    const stopped: Database = {
      ...database,
      write(work) {
        writes += 1;
        if (writes === 2) stopping.abort();
        return database.write(work);
      },
    };
    const services = { database: stopped, ids, clock };
    await assert.rejects(compactBatch(application.appid, services, stopping.signal), { name: "AbortError" });
    assert.equal(await compactBatch(application.appid, other.app), 400);
    for (const app of [test, other]) assert.deepEqual(await readAll(application, app), expected);
  });

  it("takes over an abandoned batch of a process whose clock was years ahead", async () => {
    const { database, ids, clock } = test.app;
    const application = await test.createApplication();
    await report(application, 200);
    const expected = await readAll(application, test);
    const ahead = { now: () => clock.now() + 10 * 365 * 86_400_000 };
    await assert.rejects(
      compactBatch(application.appid, { database: failingAfter(2, database), ids, clock: ahead }),
      Killed,
    );
    assert.equal(await compactBatch(application.appid, test.app), 200);
    assert.deepEqual(await readAll(application, test), expected);
  });

  it("stops the writes of a slow process whose batch another process has taken over", async () => {
    const { database, ids, clock } = test.app;
    const application = await test.createApplication();
    await report(application, 500);
    const expected = await readAll(application, test);
    let transactions = 0;
    const slow: Database = {
      ...database,
      async write(work) {
        transactions += 1;
        if (transactions === 4) {
          for (const app of [test, other]) app.advance(31_000);
          await other.app.compactor.compact(application.appid);
        }
        return database.write(work);
      },
    };
    assert.equal(await compactBatch(application.appid, { database: slow, ids, clock }), undefined);
    assert.equal(transactions, 4);
    assert.deepEqual(await readAll(application, test), expected);
  });

  it("counts each event exactly once in two processes on one database while more events arrive", async () => {
    const application = await test.createApplication();
    let isDone = false;
    const compacting = [test, other, test, other].map(async ({ app }) => {
      while (!isDone) {
        await app.compactor.compact(application.appid);
        await new Promise(setImmediate);
      }
    });
    const reports = Array.from({ length: 24 }, (_, n) => n);
    const reporting = [test, other].map(async (app, index) => {
      for (const n of reports) if (n % 2 === index) await report(application, 100, app);
    });
    let sent = false;
    const reading = (async () => {
      let last = 0;
      while (!sent) {
        const path = `GET /_/api/applications/${application.appid}/metrics`;
        const { pageResults } = (await other.call(path, { token: operator })).body.result;
        const count = pageResults.reduce((sum: number, each: { count: number }) => sum + each.count, 0);
        assert.ok(count >= last && count % 100 === 0, `${count} after ${last}`);
        last = count;
      }
    })();
    await Promise.all(reporting);
    sent = true;
    await reading;
    isDone = true;
    await Promise.all(compacting);
    for (const app of [test, other]) app.advance(31_000);
    const before = (await readAll(application, test)) as { count: number; events: unknown[] }[];
    assert.equal(
      before.reduce((sum, { count }) => sum + count, 0),
      2_400,
    );
    assert.equal(
      before.reduce((sum, { events }) => sum + events.length, 0),
      2_400,
    );
    await test.app.compactor.compact(application.appid);
    assert.deepEqual(await readAll(application, other), before);
  });

  it("removes the rows of an application deleted during a compaction, and continues for other applications", async () => {
    const [deleted, remaining] = [await test.createApplication(), await test.createApplication()];
    for (const application of [deleted, remaining]) await report(application, 100);
    await test.app.database.write(({ queries }) => updateApplicationDeleted(deleted.appid, test.now(), queries));
    await Promise.allSettled([
      test.app.compactor.compact(deleted.appid),
      deleteApplicationRows(deleted.appid, other.app),
    ]);
    await deleteApplicationRows(deleted.appid, test.app);
    for (const table of ["metric_inbox", "metric_batches", "metric_chunks", "metric_rollups", "metric_keys"] as const) {
      const rows = test.app.database.reads.selectFrom(table).select("application_id");
      assert.equal((await rows.where("application_id", "=", deleted.appid).execute()).length, 0, table);
    }
    await test.app.compactor.compact(remaining.appid);
    assert.equal(((await readAll(remaining, test)) as unknown[]).length, 5);
  });
});
