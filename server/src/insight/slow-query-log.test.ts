import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sql } from "kysely";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { runInCall } from "../lib/current-call.ts";

/** Takes the database a while, on both engines, and reads no table. */
const slow = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 300000)
  select max(n) as most from numbers where n <> ${123_456_789}`;

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

  test("a statement that takes as long is logged with its text, without its values, in a transaction too", async () => {
    await withApp({ SLOW_QUERY_MS: "5" }, async (app) => {
      await slow.execute(app.app.database.reads);
      await app.app.database.write(async ({ queries }) => void (await slow.execute(queries)));
      const lines = linesOf(app).filter(({ statement }) => String(statement).startsWith("with recursive numbers"));
      assert.equal(lines.length, 2);
      for (const { level, ms, rows, engine, statement } of lines) {
        assert.equal(level, 40);
        assert.ok(Number(ms) >= 5);
        assert.equal(rows, 1);
        assert.match(String(engine), /^(sqlite|postgresql)$/);
        assert.ok(!String(statement).includes("123456789"));
      }
    });
  });

  test("says of which request it was a part, also of those that share a commit with others", async () => {
    await withApp({ SLOW_QUERY_MS: "5" }, async (app) => {
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
      await app.app.background.stop();
      const told = linesOf(app)
        .filter(({ statement }) => statement !== "commit")
        .map(({ request_id, operation, work }) => ({ request_id, operation, work }));
      assert.deepEqual(
        told.sort((a, b) => names.indexOf(String(a.request_id)) - names.indexOf(String(b.request_id))),
        [
          { request_id: undefined, operation: undefined, work: "something long" },
          ...names.map((name) => ({ request_id: name, operation: `ask for ${name}`, work: undefined })),
        ],
      );
    });
  });

  test("a request is named by its id and its operation", async () => {
    await withApp({ SLOW_QUERY_MS: "1", PASSWORD_HASH_THREADS: "1" }, async (app) => {
      const token = await app.registerDevice();
      const asked = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          app.call("POST /users", { token, body: { username: `n${index}`, password: "correct horse" } }),
        ),
      );
      const ids = asked.map(({ body }) => body.request_id);
      for (const { request_id, operation } of linesOf(app).filter((line) => line["request_id"] !== undefined)) {
        if (operation === "createUser") assert.ok(ids.includes(request_id));
        else assert.equal(operation, "registerDevice");
      }
    });
  });

  test("0 logs none, and the default none of what takes a moment", async () => {
    for (const settings of [{ SLOW_QUERY_MS: "0" }, {}]) {
      await withApp(settings, async (app) => {
        await slow.execute(app.app.database.reads);
        await app.signUp();
        assert.deepEqual(linesOf(app), []);
      });
    }
  });

  test("writes a bounded number of lines, and says how many it left out", async () => {
    await withApp({ SLOW_QUERY_MS: "1" }, async (app) => {
      const { reads } = app.app.database;
      const many = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 30000) select max(n) from numbers`;
      for (let count = 0; count < 120; count += 1) await many.execute(reads);
      const lines = linesOf(app);
      const leftOut = lines.reduce((sum, { left_out: each }) => sum + Number(each ?? 0), 0);
      assert.ok(lines.length >= 20 && lines.length < 120, `${lines.length} lines`);
      assert.ok(leftOut <= 120 - lines.length);
    });
  });
});
