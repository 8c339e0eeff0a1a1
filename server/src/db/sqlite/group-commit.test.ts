// Runs on one engine: it opens the embedded database itself.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { sqliteUrl } from "../../../test/databases.ts";
import type { Database, Queries } from "../database.ts";
import { migrate } from "../migrate.ts";
import { openDatabase } from "../open.ts";

/** Behaviour of SQLite only: concurrent writes share a commit. See database.test.ts for the rest. */

let folder: string;
let database: Database;
let other: DatabaseSync;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  database = await openDatabase(sqliteUrl(folder), { connectionsMax: 1, timeoutMs: 100 });
  await migrate(database);
  other = new DatabaseSync(join(folder, "rollcall.db"));
});
afterEach(() => {
  database.hasForeignCommits();
});
after(async () => {
  other.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
/** Writes one row, optionally over several ticks, and optionally fails afterwards. */
function write(options: { ticks?: number; fails?: boolean; by?: Database; addsTo?: string } = {}): Promise<void> {
  count += 1;
  const name = `row ${count}`;
  const { addsTo, by = database } = options;
  return by.write(
    async ({ queries, afterCommit }) => {
      runs += 1;
      afterCommit(() => effects.push(name));
      const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(row).execute();
      for (let tick = 0; tick < (options.ticks ?? 0); tick += 1) await nextTick();
      if (options.fails) throw new Error(`${name} fails`);
    },
    addsTo === undefined ? {} : { addsTo },
  );
}

let runs = 0;
let effects: string[] = [];

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

async function countRows(): Promise<number> {
  return (await database.reads.selectFrom("applications").select("name").execute()).length;
}

/**
 * Counts all commits: a commit is a frame of the write-ahead log that records the database size
 * (https://sqlite.org/fileformat2.html#the_write_ahead_log).
 */
function countCommits(): number {
  const log = readFileSync(join(folder, "rollcall.db-wal"));
  const pageBytes = log.readUInt32BE(8);
  let commits = 0;
  for (let frame = 32; frame + 24 + pageBytes <= log.length; frame += 24 + pageBytes) {
    if (log.readUInt32BE(frame + 4) !== 0) commits += 1;
  }
  return commits;
}

/** Counts the commits and rows that the work produces. */
async function measure(work: () => Promise<unknown>): Promise<{ commits: number; rows: number }> {
  const [commits, rows] = [countCommits(), await countRows()];
  await work();
  return { commits: countCommits() - commits, rows: (await countRows()) - rows };
}

describe("writes of one tick", () => {
  it("share one commit", async () => {
    const made = await measure(() => Promise.all(Array.from({ length: 50 }, () => write())));
    assert.deepEqual(made, { commits: 1, rows: 50 });
  });

  it("share one commit even when some of them fail, and it contains nothing of the failed ones", async () => {
    const works = () => Array.from({ length: 30 }, (_, n) => write({ fails: n % 3 === 0, ticks: n % 2 }));
    assert.deepEqual(await measure(() => Promise.allSettled(works())), { commits: 1, rows: 20 });
  });

  it("store no row when all of them fail", async () => {
    const works = () => [write({ fails: true }), write({ fails: true, ticks: 2 })];
    assert.equal((await measure(() => Promise.allSettled(works()))).rows, 0);
  });

  it("are split into groups of bounded size, so that one group does not block the event loop", async () => {
    const made = await measure(() => Promise.all(Array.from({ length: 1_000 }, () => write())));
    assert.deepEqual(made, { commits: 2, rows: 1_000 });
  });
});

describe("writes that only add rows", () => {
  const addsTo = "app";
  let fresh: Database; // without a failed write so far
  beforeEach(async () => {
    fresh = await openDatabase(sqliteUrl(folder), { connectionsMax: 1, timeoutMs: 10_000 });
    runs = 0;
    effects = [];
  });
  afterEach(() => fresh.close());

  it("run once when none of them fails", async () => {
    const works = () => Array.from({ length: 50 }, () => write({ by: fresh, addsTo }));
    assert.deepEqual(await measure(() => Promise.all(works())), { commits: 1, rows: 50 });
    assert.deepEqual([runs, effects.length], [50, 50]);
  });

  it("run again when one of them fails: the others are stored once with their effects, and each failed one gets its own error", async () => {
    const first = count + 1;
    const works = () =>
      Array.from({ length: 30 }, (_, n) => write({ by: fresh, addsTo, fails: n % 3 === 2, ticks: n % 2 }));
    let outcomes: PromiseSettledResult<void>[] = [];
    const made = await measure(async () => {
      outcomes = await Promise.allSettled(works());
    });
    assert.deepEqual(made, { commits: 1, rows: 20 });
    const reasons = outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.message : undefined));
    const names = Array.from({ length: 30 }, (_, n) => `row ${first + n}`);
    assert.deepEqual(
      reasons,
      names.map((name, n) => (n % 3 === 2 ? `${name} fails` : undefined)),
    );
    assert.deepEqual(
      effects,
      names.filter((_, n) => n % 3 !== 2),
    );
    assert.equal(runs, 3 + 30);
  });

  it("run once in the following groups, even if some of them fail", async () => {
    await Promise.allSettled([write({ by: fresh, addsTo, fails: true }), write({ by: fresh, addsTo })]);
    runs = 0;
    for (let group = 0; group < 5; group += 1) {
      const works = () => Array.from({ length: 20 }, (_, n) => write({ by: fresh, addsTo, fails: n === 10 }));
      assert.deepEqual(await measure(() => Promise.allSettled(works())), { commits: 1, rows: 19 });
    }
    assert.equal(runs, 100);
  });

  it("do not make other writes and outer transactions of their group run again", async () => {
    let others = 0;
    const other = (name: string) => async (queries: Queries) => {
      others += 1;
      const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(row).execute();
    };
    const made = await measure(() =>
      Promise.allSettled([
        fresh.write(({ queries }) => other("a write")(queries)),
        write({ by: fresh, addsTo }),
        fresh.nestTransactions(
          async () => {
            await fresh.write(({ queries }) => other("in an outer transaction")(queries));
            await nextTick();
            await fresh.write(({ queries }) => other("in a outer, later")(queries));
          },
          { isSplittable: false },
        ),
        write({ by: fresh, addsTo, fails: true }),
      ]),
    );
    assert.deepEqual(made, { commits: 1, rows: 4 });
    assert.deepEqual([others, runs], [3, 4]);
  });
});

describe("writes of different ticks", () => {
  it("have one commit each when there are no concurrent writes", async () => {
    const made = await measure(async () => {
      for (let n = 0; n < 3; n += 1) await write();
    });
    assert.deepEqual(made, { commits: 3, rows: 3 });
  });

  it("share the next commit when they arrive during another one", async () => {
    const made = await measure(async () => {
      const first = write({ ticks: 10 });
      await nextTick();
      await nextTick(); // the first write is running now
      const others: Promise<void>[] = [];
      for (let n = 0; n < 3; n += 1) {
        others.push(write(), write({ fails: n === 1 }));
        await nextTick();
      }
      await Promise.allSettled([first, ...others]);
    });
    assert.deepEqual(made, { commits: 2, rows: 6 });
  });
});

describe("another process that holds the write lock", () => {
  it("makes every write of the group fail with ServiceUnavailable after the time-out; writes succeed once the lock is released", async () => {
    other.exec("begin immediate");
    const made = await measure(async () => {
      const results = await Promise.allSettled([write(), write(), write({ fails: true })]);
      for (const result of results) {
        assert.equal(result.status, "rejected");
        assert.equal(result.reason.condition, "ServiceUnavailable");
      }
    });
    assert.deepEqual(made, { commits: 0, rows: 0 });
    other.exec("rollback");
    assert.deepEqual(await measure(() => Promise.all([write(), write()])), { commits: 1, rows: 2 });
  });

  it("does not stop reads", async () => {
    const rows = await countRows();
    other.exec("begin immediate; insert into schema_migrations (name) values ('unfinished')");
    assert.equal(await countRows(), rows);
    other.exec("rollback");
  });
});

describe("hasForeignCommits", () => {
  const commit = (name: string) => other.exec(`insert into schema_migrations (name) values ('${name}')`);

  it("is true exactly once for a commit of another process, and never for one of this process", async () => {
    assert.equal(database.hasForeignCommits(), false);
    await write();
    assert.equal(database.hasForeignCommits(), false);
    commit("foreign 1");
    assert.equal(database.hasForeignCommits(), true);
    assert.equal(database.hasForeignCommits(), false);
    commit("foreign 2");
    commit("foreign 3");
    assert.equal(database.hasForeignCommits(), true);
    assert.equal(database.hasForeignCommits(), false);
  });

  it("does not miss a foreign commit just before or after a commit of the same process", async () => {
    commit("before");
    await write();
    assert.equal(database.hasForeignCommits(), true);
    await write();
    commit("after");
    assert.equal(database.hasForeignCommits(), true);
    assert.equal(database.hasForeignCommits(), false);
  });

  it("is false for an uncommitted write of another process", () => {
    other.exec("begin immediate; insert into schema_migrations (name) values ('never'); rollback");
    assert.equal(database.hasForeignCommits(), false);
  });

  it("lets reads of the same tick see the commit that it reported", async () => {
    await countRows(); // a read transaction is open for the rest of this tick
    other.exec(
      "insert into applications (application_id, name, token_version, created_at) values ('foreign', 'foreign', 0, 0)",
    );
    assert.equal(database.hasForeignCommits(), true);
    const rows = await database.reads.selectFrom("applications").select("name").where("name", "=", "foreign").execute();
    assert.equal(rows.length, 1);
  });
});

const lockLog = `
import fcntl, sys
index = open(sys.argv[1], "r+b")
fcntl.lockf(index, fcntl.LOCK_EX, 3, 120)
index.write(bytes(96))
index.flush()
print("locked", flush=True)
sys.stdin.read()
`;
const hasPython = spawnSync("python3", ["-c", "import fcntl"]).status === 0;

describe("a process that recovers the log of a killed one", { skip: !hasPython && "needs python3" }, () => {
  it("delays writes like any other writer", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const waiting = await openDatabase(sqliteUrl(folder), { connectionsMax: 1, timeoutMs: 10_000 });
    await migrate(waiting);
    // The locks of the log and the state of its index during recovery: https://sqlite.org/walformat.html
    const recovering = spawn("python3", ["-c", lockLog, join(folder, "rollcall.db-shm")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    t.after(async () => {
      recovering.kill();
      await waiting.close();
      rmSync(folder, { recursive: true, force: true });
    });
    await once(recovering.stdout, "data");
    const row = { application_id: "a", name: "a", token_version: 0, created_at: 0, deleted_at: null };
    const written = waiting.write(({ queries }) => queries.insertInto("applications").values(row).execute());
    for (let ticks = 0; ticks < 10; ticks += 1) await nextTick();
    recovering.stdin.end();
    await written;
  });
});
