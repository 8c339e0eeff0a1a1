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
  it("logs a failing database once, probes it once a second, and logs when it is back", async () => {
    const { database, lines, ledger } = start();
    assert.equal(ledger.shouldProbe(), false);
    const run = () =>
      ledger.run(
        async () => 7,
        () => assert.fail("overdue"),
      );
    assert.deepEqual([await run(), await run()], [undefined, undefined]);
    assert.deepEqual([ledger.isAway, ledger.outages, lines], [true, 1, [left]]);
    assert.equal(ledger.shouldProbe(), false, "within the second");
    const answer: unknown = 7;
    database.write = async <T>() => answer as T;
    assert.equal(await run(), 7);
    assert.deepEqual([ledger.isAway, ledger.outages, lines], [false, 1, [left, back]]);
  });

  it("does not delay calls when the database is slow, and counts its late answer", async () => {
    const { database, ledger } = start();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    database.write = <T>() => promise as Promise<T>;
    const overdue = Promise.withResolvers<void>();
    const late = ledger.run(async () => 7, overdue.resolve);
    await overdue.promise;
    assert.equal(ledger.isAway, true);
    resolve(7);
    assert.equal(await late, 7);
    assert.equal(ledger.isAway, true, "until an answer comes in time");
  });
});
