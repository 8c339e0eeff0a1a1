// Runs on one engine: it replaces the database.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Database } from "../db/database.ts";
import { createLedger } from "./counters.ts";

type Write = Database["write"];

function start() {
  const lines: string[] = [];
  const database: { write: Write } = { write: () => Promise.reject(new Error("replaced by each test")) };
  const log = { warn: (_: unknown, line: string) => lines.push(line), info: (line: string) => lines.push(line) };
  return { database, lines, ledger: createLedger({ database, log }, { overdueMs: 5 }) };
}

const left = "the database does not answer in time: limits are counted by each process for itself";
const back = "limits are counted by all processes together again";

// spec/limits#several-processes
describe("Ledger", () => {
  it("logs an unavailable database once, probes it once a second, and logs when it is available again", async () => {
    const { database, lines, ledger } = start();
    assert.equal(ledger.shouldProbe(), false);
    const run = () =>
      ledger.run(
        async () => 7,
        () => assert.fail("overdue"),
      );
    assert.deepEqual([await run(), await run()], [undefined, undefined]);
    assert.deepEqual([ledger.isUnavailable, ledger.outages, lines], [true, 1, [left]]);
    assert.equal(ledger.shouldProbe(), false, "within the second");
    const answer: unknown = 7;
    database.write = async <T>() => answer as T;
    assert.equal(await run(), 7);
    assert.deepEqual([ledger.isUnavailable, ledger.outages, lines], [false, 1, [left, back]]);
  });

  it("does not make calls wait for a slow database, and uses its late answer", async () => {
    const { database, ledger } = start();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    database.write = <T>() => promise as Promise<T>;
    const overdue = Promise.withResolvers<void>();
    const late = ledger.run(async () => 7, overdue.resolve);
    await overdue.promise;
    assert.equal(ledger.isUnavailable, true);
    resolve(7);
    assert.equal(await late, 7);
    assert.equal(ledger.isUnavailable, true, "until an answer comes in time");
  });
});
