import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type OpenTestDatabase, openTestDatabase } from "../../test/databases.ts";
import { ApiError } from "../lib/errors.ts";
import type { Database, OuterTransaction, Queries } from "./database.ts";
import { openDatabase } from "./open.ts";

/** The contract of `Database.nestTransactions` on both engines. */

const patient = { connectionsMax: 4, timeoutMs: 10_000 };
let opened: OpenTestDatabase;
let database: Database;
/** Another connection to it. */
let outside: Database;
before(async () => {
  opened = await openTestDatabase(patient);
  database = opened.database;
  outside = await openDatabase(opened.url, patient);
});
after(async () => {
  await outside.close();
  await opened.close();
});

let count = 0;
/** Returns a new prefix for the names that a test uses. */
const newStart = () => `outer ${++count}:`;

async function insert(name: string, queries: Queries): Promise<void> {
  const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
  await queries.insertInto("applications").values(row).execute();
}

function write(name: string): Promise<void> {
  return database.write(({ queries }) => insert(name, queries));
}

/** Lists the rows that begin with `start`, without that prefix. */
async function found(start: string, in_ = outside): Promise<string[]> {
  in_.hasForeignCommits(); // its next read begins a new transaction
  const rows = await in_.reads.selectFrom("applications").select("name").orderBy("name").execute();
  return rows
    .map(({ name }) => name)
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length));
}

const whole = { isSplittable: false };
const split = { isSplittable: true };
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

// spec/batch#modes
describe("Database.nestTransactions", () => {
  it("writes are visible inside immediately, and outside when the transaction resolves", async () => {
    for (const options of [whole, split]) {
      const start = newStart();
      const value = await database.nestTransactions(async () => {
        await write(`${start}a`);
        await nextTurn();
        await write(`${start}b`);
        assert.deepEqual(await found(start, database), ["a", "b"]);
        assert.deepEqual(await found(start), []);
        return 7;
      }, options);
      assert.equal(value, 7);
      assert.deepEqual(
        [await found(start, database), await found(start)],
        [
          ["a", "b"],
          ["a", "b"],
        ],
      );
    }
  });

  it("nothing is stored and no effect runs if the work throws", async () => {
    for (const options of [whole, split]) {
      const start = newStart();
      const effects: string[] = [];
      const failing = database.nestTransactions(async () => {
        await database.write(async ({ queries, afterCommit }) => {
          await insert(`${start}a`, queries);
          afterCommit(() => void effects.push("commit"));
        });
        database.afterCommit(() => void effects.push("afterCommit"));
        assert.equal(database.hasPendingEffects(), true);
        throw new Error("no");
      }, options);
      await assert.rejects(failing, /^Error: no$/);
      assert.deepEqual([await found(start), effects], [[], []]);
    }
  });

  it("effects run once, after the commit, even if the last statement is no write", async () => {
    const start = newStart();
    const effects: string[] = [];
    await database.nestTransactions(async () => {
      database.afterCommit(() => void effects.push(`afterwards ${database.hasPendingEffects()}`));
      await database.write(async ({ queries, afterCommit }) => {
        await insert(`${start}a`, queries);
        afterCommit(() => void effects.push("commit"));
      });
      await nextTurn();
      assert.deepEqual(effects, []);
    }, whole);
    assert.deepEqual(effects, ["afterwards false", "commit"]);
    await database.nestTransactions(async () => database.afterCommit(() => void effects.push("alone")), whole);
    database.afterCommit(() => void effects.push("at once"));
    assert.deepEqual(effects.slice(2), ["alone", "at once"]);
  });

  it("a failing write undoes only itself", async () => {
    const start = newStart();
    await database.nestTransactions(async (outer) => {
      for (const name of ["a", "a", "b"]) {
        await outer.step(() => write(`${start}${name}`)).catch((error) => assert.ok(!(error instanceof ApiError)));
      }
      await write(`${start}b`).catch(() => {});
      await write(`${start}c`);
    }, split);
    assert.deepEqual(await found(start), ["a", "b", "c"]);
  });

  it("a nested transaction is a step of the outer one; if it throws, only its own writes are rolled back", async () => {
    const start = newStart();
    const fail = (name: string) =>
      database.nestTransactions(async (outer) => {
        await outer.step(() => write(`${start}${name} 1`));
        await outer.step(() => write(`${start}${name} 2`));
        throw new Error("inner");
      }, whole);
    await database.nestTransactions(async () => {
      await assert.rejects(fail("first"), /inner/);
      await write(`${start}a`);
      await assert.rejects(fail("second"), /inner/);
      await write(`${start}b`);
      await database.nestTransactions(async (outer) => {
        await outer.step(() => write(`${start}c`));
        await outer.flush();
        assert.deepEqual(await found(start), [], "the outer transaction commits it");
      }, split);
    }, whole);
    assert.deepEqual(await found(start), ["a", "b", "c"]);

    await database.nestTransactions(async (outer) => {
      for (const name of ["d", "e"]) {
        await outer.step(async () => {
          await assert.rejects(
            database.nestTransactions(async () => {
              await write(`${start}${name} inner`);
              throw new Error("inner");
            }, whole),
          );
          await write(`${start}${name}`);
        });
      }
    }, split);
    assert.deepEqual(await found(start), ["a", "b", "c", "d", "e"]);
  });

  it("other transactions can read and write during it, and its rollback does not affect them", async () => {
    const start = newStart();
    const failing = database.nestTransactions(async () => {
      await write(`${start}mine`);
      for (let n = 0; n < 10; n += 1) await nextTurn();
      throw new Error("no");
    }, whole);
    const others = Array.from({ length: 20 }, (_, n) => write(`${start}${String(n).padStart(2, "0")}`));
    await Promise.all([assert.rejects(failing), found(start, database), ...others]);
    assert.equal((await found(start)).length, 20);
  });

  it("concurrent outer transactions do not affect each other", async () => {
    const start = newStart();
    const isDone = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        database
          .nestTransactions(
            async (outer) => {
              for (const part of ["a", "b", "c"]) {
                await outer.step(() => write(`${start}${n} ${part}`));
                if (n % 3 === 0) await nextTurn();
              }
              if (n % 2 === 0) throw new Error("no");
            },
            n % 4 === 1 ? split : whole, // a splittable transaction keeps the steps that were committed before the failure
          )
          .then(
            () => true,
            () => false,
          ),
      ),
    );
    assert.deepEqual(
      isDone,
      Array.from({ length: 24 }, (_, n) => n % 2 === 1),
    );
    const names = await found(start);
    assert.equal(names.length, 36);
    assert.ok(names.every((name) => Number.parseInt(name, 10) % 2 === 1));
  });

  it("an outer transaction that takes too long is aborted so that others can continue; its later writes fail", async () => {
    const start = newStart();
    const impatient = await openDatabase(opened.url, { ...patient, timeoutMs: 500 });
    const add = (name: string) => impatient.write(({ queries }) => insert(`${start}${name}`, queries));
    const slow = impatient.nestTransactions(async () => {
      await add("a");
      await wait(750);
      await add("b");
    }, whole);
    await nextTurn();
    const isUnavailable = (error: unknown) => error instanceof ApiError && error.condition === "ServiceUnavailable";
    await Promise.all([assert.rejects(slow, isUnavailable), write(`${start}other`)]);
    assert.deepEqual(await found(start), ["other"]);
    await impatient.close();
  });

  it("work that continues after the outer transaction has closed writes in its own transaction", async () => {
    const start = newStart();
    let later = Promise.resolve();
    await database.nestTransactions(async () => {
      await write(`${start}a`);
      later = wait(20).then(() => write(`${start}later`));
    }, whole);
    await later;
    assert.deepEqual(await found(start), ["a", "later"]);
  });
});

describe("Database.outsideTransaction", () => {
  /** Records the runs, and the rows on disk at each run. */
  function spy(start: string) {
    const seen: string[][] = [];
    return { seen, work: async () => void seen.push(await found(start)) };
  }

  it("runs work immediately and outside of the transaction, if there is none or before its first write", async () => {
    const start = newStart();
    await database.outsideTransaction("alone", () => write(`${start}alone`));
    const failing = database.nestTransactions(async () => {
      await database.outsideTransaction("first", () => write(`${start}first`));
      await write(`${start}a`);
      throw new Error("no");
    }, whole);
    await assert.rejects(failing);
    assert.deepEqual(await found(start), ["alone", "first"]);
  });

  it("not splittable: rolls back all steps, runs the outside work once, and retries all steps", async () => {
    const start = newStart();
    const { seen, work } = spy(start);
    let runs = 0;
    await database.nestTransactions(async (outer) => {
      runs += 1;
      for (const name of ["a", "b", "c"]) {
        await outer
          .step(async () => {
            await write(`${start}${name} before`);
            await database.outsideTransaction(name, work);
            await write(`${start}${name} after`);
          })
          .catch(() => {});
      }
    }, whole);
    assert.deepEqual(seen, [[], [], []], "nothing was on disk");
    assert.equal(runs, 2, "one run collects all work that has to run apart");
    assert.equal((await found(start)).length, 6);
  });

  it("splittable: commits the preceding steps, rolls the current one back, and retries it", async () => {
    const start = newStart();
    const { seen, work } = spy(start);
    const runs: string[] = [];
    const effects: string[] = [];
    await database.nestTransactions(async (outer) => {
      for (const name of ["a", "b"]) {
        await outer.step(async () => {
          runs.push(name);
          database.afterCommit(() => void effects.push(name));
          await write(`${start}${name} before`);
          await database.outsideTransaction("the same key", work);
          await write(`${start}${name} after`);
        });
      }
    }, split);
    assert.deepEqual(runs, ["a", "a", "b", "b"]);
    assert.deepEqual(seen, [[], ["a after", "a before"]]);
    assert.deepEqual(effects, ["a", "b"]);
    assert.equal((await found(start)).length, 4);
  });

  it("does not run work with side effects before the preceding calls are final", async () => {
    const done: string[] = [];
    const start = newStart();
    await database.nestTransactions(async (outer) => {
      await write(`${start}a`);
      for (const name of ["1", "2"]) {
        await outer
          .step(() => database.outsideTransaction(name, async () => void done.push(name), { hasEffect: true }))
          .catch(() => {});
      }
      await outer.step(() => database.outsideTransaction("3", async () => void done.push("3"))).catch(() => {});
    }, whole);
    assert.deepEqual(done, ["1", "3", "2"]);
  });

  it("fails the step when the outside work fails, and does not retry that work", async () => {
    const start = newStart();
    for (const options of [whole, split]) {
      let tries = 0;
      const refused: unknown[] = [];
      await database.nestTransactions(async (outer: OuterTransaction) => {
        await outer.step(() => write(`${start}${options.isSplittable}`));
        const work = async () => {
          tries += 1;
          throw new ApiError("AuthBadUsernameOrPassword");
        };
        await outer.step(() => database.outsideTransaction("x", work)).catch((error) => refused.push(error));
      }, options);
      assert.equal(tries, 1);
      const last = refused.at(-1);
      assert.ok(last instanceof ApiError && last.condition === "AuthBadUsernameOrPassword");
    }
    assert.deepEqual(await found(start), ["false", "true"]);
  });
});

describe("OuterTransaction.part", () => {
  it("retries a step in its own transaction after a conflict, once the preceding steps are committed", async (t) => {
    const now = performance.now();
    t.mock.method(performance, "now", () => now); // on a busy machine, a long transaction would be split earlier
    const start = newStart();
    const runs: string[][] = [];
    const part = (outer: OuterTransaction, name: string, busyRuns: number) =>
      outer.step(
        async () => {
          runs.push([name, ...(await found(start))]);
          await write(`${start}${name}`);
          return runs.filter(([each]) => each === name).length <= busyRuns;
        },
        (isBusy) => isBusy,
      );
    await database.nestTransactions(async (outer) => {
      await part(outer, "a", 0);
      await part(outer, "b", 1);
      await part(outer, "c", 9);
    }, split);
    // From then on each runs in a transaction of its own, and does not run again.
    assert.deepEqual(runs, [["a"], ["b"], ["b", "a"], ["c", "a", "b"]]);
    assert.deepEqual(await found(start), ["a", "b", "c"]);
  });
});
