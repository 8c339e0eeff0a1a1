import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, describe, it } from "node:test";
import { sqliteUrl } from "../../test/harness.ts";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";
import { openDatabase } from "./open.ts";

/** What SQLite alone promises: writes that arrive together share a commit; see database.test.ts for the rest. */

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
/** Writes one row, perhaps over several turns of the event loop, and perhaps fails then. */
function write(options: { turns?: number; fails?: boolean } = {}): Promise<void> {
  count += 1;
  const name = `row ${count}`;
  return database.write(async ({ queries }) => {
    const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
    await queries.insertInto("applications").values(row).execute();
    for (let turn = 0; turn < (options.turns ?? 0); turn += 1) await nextTurn();
    if (options.fails) throw new Error("on purpose");
  });
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

async function countRows(): Promise<number> {
  return (await database.reads.selectFrom("applications").select("name").execute()).length;
}

/**
 * How often anybody has committed: a commit is a frame of the write-ahead log that tells the size of the database
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

/** How many commits and rows this makes. */
async function measure(work: () => Promise<unknown>): Promise<{ commits: number; rows: number }> {
  const [commits, rows] = [countCommits(), await countRows()];
  await work();
  return { commits: countCommits() - commits, rows: (await countRows()) - rows };
}

describe("writes of one turn", () => {
  it("share one commit", async () => {
    const made = await measure(() => Promise.all(Array.from({ length: 50 }, () => write())));
    assert.deepEqual(made, { commits: 1, rows: 50 });
  });

  it("share it also when some of them fail, and nothing of those is in it", async () => {
    const works = () => Array.from({ length: 30 }, (_, n) => write({ fails: n % 3 === 0, turns: n % 2 }));
    assert.deepEqual(await measure(() => Promise.allSettled(works())), { commits: 1, rows: 20 });
  });

  it("leave nothing when all of them fail", async () => {
    const works = () => [write({ fails: true }), write({ fails: true, turns: 2 })];
    assert.equal((await measure(() => Promise.allSettled(works()))).rows, 0);
  });

  it("share it up to a bound, so that one group does not keep the event loop", async () => {
    const made = await measure(() => Promise.all(Array.from({ length: 1_000 }, () => write())));
    assert.deepEqual(made, { commits: 2, rows: 1_000 });
  });
});

describe("writes of different turns", () => {
  it("have a commit each when nobody else writes", async () => {
    const made = await measure(async () => {
      for (let n = 0; n < 3; n += 1) await write();
    });
    assert.deepEqual(made, { commits: 3, rows: 3 });
  });

  it("share the next commit when they arrive while one is under way", async () => {
    const made = await measure(async () => {
      const first = write({ turns: 10 });
      await nextTurn();
      await nextTurn(); // the first one is under way now
      const others: Promise<void>[] = [];
      for (let n = 0; n < 3; n += 1) {
        others.push(write(), write({ fails: n === 1 }));
        await nextTurn();
      }
      await Promise.allSettled([first, ...others]);
    });
    assert.deepEqual(made, { commits: 2, rows: 6 });
  });
});

describe("another process that holds the lock", () => {
  it("503 ServiceUnavailable to every write of the group after the wait, and all is well once it lets go", async () => {
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

  it("reads go on meanwhile", async () => {
    const rows = await countRows();
    other.exec("begin immediate; insert into schema_migrations (name) values ('unfinished')");
    assert.equal(await countRows(), rows);
    other.exec("rollback");
  });
});

describe("hasForeignCommits", () => {
  const commit = (name: string) => other.exec(`insert into schema_migrations (name) values ('${name}')`);

  it("is true exactly once for what another process committed, never for what this one did", async () => {
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

  it("misses none that came just before or after a commit of its own", async () => {
    commit("before");
    await write();
    assert.equal(database.hasForeignCommits(), true);
    await write();
    commit("after");
    assert.equal(database.hasForeignCommits(), true);
    assert.equal(database.hasForeignCommits(), false);
  });

  it("is false for what another process did not commit", () => {
    other.exec("begin immediate; insert into schema_migrations (name) values ('never'); rollback");
    assert.equal(database.hasForeignCommits(), false);
  });

  it("lets the reads of the same turn see what it noticed", async () => {
    await countRows(); // a read transaction is open for the rest of this turn
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

describe("a process that recovers the log of one that was killed", { skip: !hasPython && "needs python3" }, () => {
  it("is waited for, as any other that writes", async (t) => {
    const place = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const waiting = await openDatabase(sqliteUrl(place), { connectionsMax: 1, timeoutMs: 10_000 });
    await migrate(waiting);
    // Its locks, and the index as it is meanwhile: https://sqlite.org/walformat.html
    const recovering = spawn("python3", ["-c", lockLog, join(place, "rollcall.db-shm")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    t.after(async () => {
      recovering.kill();
      await waiting.close();
      rmSync(place, { recursive: true, force: true });
    });
    await once(recovering.stdout, "data");
    const row = { application_id: "a", name: "a", token_version: 0, created_at: 0, deleted_at: null };
    const written = waiting.write(({ queries }) => queries.insertInto("applications").values(row).execute());
    for (let turns = 0; turns < 10; turns += 1) await nextTurn();
    recovering.stdin.end();
    await written;
  });
});
