import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createLog } from "../config/log.ts";
import { runInCall } from "../lib/current-call.ts";
import { createSlowQueryLog } from "./slow-query-log.ts";

/** A statement that is slow on both engines and reads no table. */
const slow = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1500000)
  select max(n) as most from numbers where n <> ${123_456_789}`;

/** Below the duration of that statement anywhere, and above that of ordinary ones on a busy machine. */
const slowMs = 150;

// spec/deployment#slow-queries
describe("SLOW_QUERY_MS", () => {
  async function withApp(settings: Readonly<Record<string, string>>, work: (app: TestApp) => Promise<void>) {
    const app = await startTestApp(settings);
    try {
      await work(app);
    } finally {
      await app.close();
    }
  }
  const linesOf = ({ logLines }: TestApp) => logLines.filter(({ msg }) => msg === "slow query");

  test("logs a slow statement with its text but without its values, also in a transaction", async () => {
    await withApp({ SLOW_QUERY_MS: String(slowMs) }, async (app) => {
      await slow.execute(app.app.database.reads);
      await app.app.database.write(async ({ queries }) => void (await slow.execute(queries)));
      const lines = linesOf(app).filter(({ statement }) => String(statement).startsWith("with recursive numbers"));
      assert.equal(lines.length, 2);
      for (const { level, ms, rows, engine, statement } of lines) {
        assert.equal(level, 40);
        assert.ok(Number(ms) >= slowMs);
        assert.equal(rows, 1);
        assert.match(String(engine), /^(sqlite|postgresql)$/);
        assert.ok(!String(statement).includes("123456789"));
      }
    });
  });

  test("logs the request of the statement, even when it shares a commit with others", async () => {
    await withApp({ SLOW_QUERY_MS: String(slowMs) }, async (app) => {
      const { database } = app.app;
      const names = ["one", "two", "three"];
      await Promise.all(
        names.map((requestId) =>
          runInCall({ requestId, operation: `ask for ${requestId}` }, () =>
            database.write(async ({ queries }) => void (await slow.execute(queries))),
          ),
        ),
      );
      app.app.background.run("something long", () => slow.execute(database.reads));
      await database.write(async () => {});
      await app.app.background.stop(10_000);
      const lines = linesOf(app)
        .filter(({ statement }) => String(statement).startsWith("with recursive numbers"))
        .map(({ request_id, operation, work }) => ({ request_id, operation, work }));
      assert.deepEqual(
        lines.sort((a, b) => names.indexOf(String(a.request_id)) - names.indexOf(String(b.request_id))),
        [
          { request_id: undefined, operation: undefined, work: "something long" },
          ...names.map((name) => ({ request_id: name, operation: `ask for ${name}`, work: undefined })),
        ],
      );
    });
  });

  test("logs nothing with 0, and logs no statement that is faster than the limit", async () => {
    for (const settings of [{ SLOW_QUERY_MS: "0" }, { SLOW_QUERY_MS: "60000" }]) {
      await withApp(settings, async (app) => {
        await app.signUp();
        assert.deepEqual(linesOf(app), []);
      });
    }
  });

  test("writes up to 20 lines a second, then the number of dropped lines", async () => {
    const statement = { statement: "select 1", ms: 1_000.00049, rows: 1, engine: "sqlite", failure: undefined };
    /** Logs a hundred statements within a second, which may take a busy machine several attempts. */
    function fill() {
      for (;;) {
        const text: string[] = [];
        const logQuery = createSlowQueryLog(createLog("info", { write: (line) => void text.push(line) }));
        const began = performance.now();
        for (let count = 0; count < 100; count += 1) logQuery(statement);
        if (performance.now() - began < 1_000) return { text, logQuery };
      }
    }
    const { text, logQuery } = fill();
    assert.equal(text.length, 20);
    const filled = performance.now();
    while (performance.now() - filled <= 1_001) await setTimeout(50); // a timer may fire a fraction early
    logQuery(statement);
    const { time, ...line } = JSON.parse(text.at(-1) ?? "");
    assert.equal(typeof time, "number");
    assert.deepEqual(line, {
      level: 40,
      ms: 1_000,
      rows: 1,
      engine: "sqlite",
      statement: "select 1",
      left_out: 80,
      msg: "slow query",
    });
  });
});
