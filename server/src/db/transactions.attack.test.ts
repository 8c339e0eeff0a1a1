import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { type OpenTestDatabase, openTestDatabase } from "../../test/databases.ts";
import { ApiError } from "../lib/errors.ts";
import type { Database, OuterTransaction, Queries } from "./database.ts";
import { openDatabase } from "./open.ts";
import type { EngineTransaction, EngineWrite } from "./outer-transaction.ts";
import { createTransactions, type Transactions } from "./transactions.ts";

/** `Database.nestTransactions` on top of a failing engine or connection. */

const split = { isSplittable: true };
const whole = { isSplittable: false };
const isUnavailable = (error: unknown) => error instanceof ApiError && error.condition === "ServiceUnavailable";

describe("Database.nestTransactions on an engine that fails", () => {
  /** An engine that stores its writes in a list and fails at the statements that `failing` names. */
  function fakeEngine(failing: { commit?: (count: number) => boolean; rollback?: boolean; openAfterMs?: number } = {}) {
    const kept: string[] = [];
    let commits = 0;
    let rows: string[] = [];
    const engineWrite: EngineWrite = async (work) => {
      await new Promise((resolve) => setTimeout(resolve, failing.openAfterMs ?? 0));
      const marks: number[] = [];
      rows = [];
      const transaction: EngineTransaction = {
        queries: undefined as unknown as Queries, // nothing here reads
        afterCommit() {},
        savepoint: () => void marks.push(rows.length),
        release: () => void marks.pop(),
        rollback() {
          if (failing.rollback === true) throw new Error("no such savepoint");
          rows.length = marks.pop() ?? 0;
        },
        waitAtMost() {},
      };
      const value = await work(transaction);
      commits += 1;
      if (failing.commit?.(commits) === true) throw new ApiError("ServiceUnavailable");
      kept.push(...rows);
      return value;
    };
    return {
      kept,
      engineWrite,
      write: (transactions: Transactions, name: string) => transactions.write(async () => void rows.push(name)),
    };
  }

  /**
   * Runs parts as a batch does: a failing part does not stop the others, and a refused part may have met a conflict.
   */
  async function runParts(outer: OuterTransaction, parts: readonly (() => Promise<void>)[]): Promise<string[]> {
    const answer = (part: () => Promise<void>) =>
      part().then(
        () => "done",
        (error) => {
          if (error instanceof ApiError) return error.condition;
          throw error;
        },
      );
    const outcomes: string[] = [];
    for (const part of parts) {
      const outcome = await outer
        .step(
          () => answer(part),
          (condition) => condition === "ServiceUnavailable",
        )
        .catch((error) => `lost: ${error.condition}`);
      outcomes.push(outcome);
    }
    return outcomes;
  }

  it("splittable: a failed commit before the last step loses the writes of that commit, and no step runs twice", async () => {
    const { kept, engineWrite, write } = fakeEngine({ commit: (count) => count === 2 });
    const transactions = createTransactions(engineWrite, 1_000);
    const runs: string[] = [];
    const create = (name: string) => async () => {
      runs.push(name);
      await write(transactions, name);
    };
    const hash = (name: string) => () => transactions.outsideTransaction(name, async () => {});
    let outcomes: string[] = [];
    await transactions.nestTransactions(async (outer) => {
      outcomes = await runParts(outer, [create("a"), hash("1"), create("b"), hash("2")]);
    }, split);
    assert.deepEqual(runs, ["a", "b"]);
    assert.deepEqual(kept, ["a"]);
    assert.deepEqual(outcomes, ["done", "done", "done", "lost: ServiceUnavailable"]);
  });

  it("splittable: steps after a lost transaction run in a new transaction", async () => {
    const { kept, engineWrite, write } = fakeEngine();
    const transactions = createTransactions(engineWrite, 300);
    let outcomes: string[] = [];
    await transactions.nestTransactions(async (outer) => {
      outcomes = await runParts(outer, [
        () => write(transactions, "a"),
        () => new Promise((resolve) => setTimeout(resolve, 700)),
        () => write(transactions, "b"),
        () => write(transactions, "c"),
      ]);
    }, split);
    assert.deepEqual(outcomes, ["done", "done", "lost: ServiceUnavailable", "done"]);
    assert.deepEqual(kept, ["c"]);
  });

  it("a transaction whose rollback to a step fails is lost with ServiceUnavailable, not with the error of the step", async () => {
    const { kept, engineWrite, write } = fakeEngine({ rollback: true });
    const transactions = createTransactions(engineWrite, 1_000);
    await assert.rejects(
      transactions.nestTransactions(async () => {
        await write(transactions, "a");
        const refused = transactions.write(async () => {
          throw new ApiError("ItemDoesNotExist");
        });
        await assert.rejects(refused, ({ condition }) => condition === "ItemDoesNotExist");
        await assert.rejects(write(transactions, "b"), isUnavailable);
      }, whole),
      isUnavailable,
    );
    assert.deepEqual(kept, []);
  });

  it("a transaction that takes too long is aborted, even if it had to wait long to begin", {
    timeout: 30_000,
  }, async () => {
    const { kept, engineWrite, write } = fakeEngine({ openAfterMs: 100 });
    const transactions = createTransactions(engineWrite, 50);
    const slow = transactions.nestTransactions(async () => {
      await write(transactions, "a");
      await new Promise((resolve) => setTimeout(resolve, 300));
      await write(transactions, "b");
    }, whole);
    await assert.rejects(slow, isUnavailable);
    assert.deepEqual(kept, []);
  });
});

describe("Database.nestTransactions", () => {
  let opened: OpenTestDatabase;
  let database: Database;
  before(async () => {
    opened = await openTestDatabase({ connectionsMax: 4, timeoutMs: 10_000 });
    database = opened.database;
  });
  after(() => opened.close());

  function write(name: string): Promise<void> {
    return database.write(async ({ queries }) => {
      const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(row).execute();
    });
  }

  it("a failing read does not undo writes that are reported as committed", async () => {
    for (const options of [split, whole]) {
      const start = `${options.isSplittable}`;
      let said: string[] = [];
      const add = (outer: OuterTransaction, name: string) =>
        outer
          .step(() => write(`${start} ${name}`))
          .then(
            () => said.push(name),
            () => {
              said = []; // as a batch does: earlier parts were in the same transaction
            },
          );
      await database
        .nestTransactions(async (outer) => {
          await add(outer, "a");
          await outer.step(async () => {
            await assert.rejects(sql`select no_such_column from applications`.execute(database.reads));
          });
          await add(outer, "b");
          await add(outer, "c");
        }, options)
        .catch(() => {
          said = [];
        });
      const rows = await database.reads.selectFrom("applications").select("name").orderBy("name").execute();
      assert.deepEqual(
        rows.map(({ name }) => name).filter((name) => name.startsWith(start)),
        said.map((name) => `${start} ${name}`),
      );
    }
  });

  it("splittable: other transactions do not wait for all of a long work", async () => {
    await database.nestTransactions(async (outer) => {
      await outer.step(() => write("long 1"));
      await outer.step(() => new Promise((resolve) => setTimeout(resolve, 100)));
      await outer.step(async () => {
        const other = await openDatabase(opened.url, { connectionsMax: 1, timeoutMs: 1_000 });
        const rows = await other.reads.selectFrom("applications").select("name").where("name", "=", "long 1").execute();
        await other.close();
        assert.equal(rows.length, 1);
      });
    }, split);
  });

  it("many long outer transactions leave a connection to single reads and writes", async () => {
    const opened = Promise.withResolvers<void>();
    const closing = Promise.withResolvers<void>();
    let count = 0;
    const long = Array.from({ length: 8 }, (_, n) =>
      database.nestTransactions(async () => {
        await write(`many ${n}`);
        count += 1;
        opened.resolve();
        await closing.promise;
      }, whole),
    );
    await opened.promise;
    // Usually more than one has started by now, and none can end.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await database.reads.selectFrom("applications").select("name").execute(); // fails unless it is in time
    assert.ok(count < 4);
    closing.resolve();
    await Promise.all(long);
  });

  it("work that swallows a failed statement does not report a lost commit as successful", async () => {
    const written = database.write(async ({ queries }) => {
      const row = { application_id: "swallowed", name: "swallowed", token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(row).execute();
      await sql`select no_such_column from applications`.execute(queries).catch(() => {});
    });
    const isSaid = await written.then(
      () => true,
      () => false,
    );
    const found = await database.reads
      .selectFrom("applications")
      .select("name")
      .where("name", "=", "swallowed")
      .execute();
    assert.equal(found.length === 1, isSaid);
  });
});
