import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startThrowawayPostgres, type ThrowawayPostgres } from "../../scripts/throwaway-postgres.ts";
import { startTestApp, type TestApp } from "./harness.ts";

/** Starts a separate PostgreSQL server, to stop and restart it. */

describe("a separate PostgreSQL server", {
  skip: process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL",
}, () => {
  let server: ThrowawayPostgres;
  let test: TestApp;
  before(async () => {
    server = await startThrowawayPostgres();
    test = await startTestApp({ DATABASE_URL: server.url });
  });
  after(async () => {
    await test.close();
    await server.stop();
  });

  it("restarts under load without losing or duplicating an answered check-in, and calls succeed within a second of its return", async () => {
    const { token } = await test.signUp();
    const answered = new Set<string>();
    let refusals = 0;
    let sent = 0;
    let isOver = false;
    /** Records the outcome of a call that was sent at that time. */
    let lastRefusedAt = 0;
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        sent += 1;
        const body = { location: "1,2", comment: `${sent}` };
        const { status, body: answer } = await test.call("POST /checkins", { token, body });
        if (status === 201) answered.add(`${answer.result.comment}`);
        else {
          assert.equal(status, 503);
          refusals += 1;
          lastRefusedAt = performance.now();
        }
      }
    });
    const answers = async (count: number) => {
      for (const goal = answered.size + count; answered.size < goal; ) await new Promise((go) => setTimeout(go, 5));
    };
    const recoveriesMs: number[] = [];
    // Other tests may keep the machine busy during some of them.
    for (let restarts = 0; restarts < 2 || (Math.min(...recoveriesMs) >= 1_000 && restarts < 6); restarts += 1) {
      await answers(50);
      await server.halt();
      await server.restart();
      const backAt = performance.now();
      await answers(1);
      const answeredAt = performance.now();
      await answers(50);
      recoveriesMs.push(Math.max(answeredAt, lastRefusedAt) - backAt);
    }
    isOver = true;
    await Promise.all(clients);
    assert.ok(refusals > 0);
    assert.ok(Math.min(...recoveriesMs) < 1_000, `${recoveriesMs} ms`);

    const stored: string[] = [];
    for (let query = "pageSize=1000"; query !== ""; ) {
      const { result } = (await test.call(`GET /checkins?${query}`, { token })).body;
      stored.push(...result.pageResults.map(({ comment }: { comment: string }) => comment));
      query = result.nextToken === undefined ? "" : `pagingToken=${result.nextToken}`;
    }
    assert.equal(new Set(stored).size, stored.length, "a check-in is stored twice");
    for (const comment of answered) assert.ok(stored.includes(comment), `check-in ${comment} is lost`);
  });
});
