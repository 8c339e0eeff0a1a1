import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { createTestDatabase, type TestDatabase } from "../../test/databases.ts";
import type { Database, Queries } from "./database.ts";
import { migrate } from "./migrate.ts";
import { openDatabase } from "./open.ts";

/** What both engines promise of `Database`. */

let folder: string;
let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  testDatabase = await createTestDatabase(folder);
  database = await open();
  await migrate(database);
});
after(async () => {
  await database.close();
  await testDatabase.drop();
  rmSync(folder, { recursive: true, force: true });
});

function open(): Promise<Database> {
  return openDatabase(testDatabase.url, { connectionsMax: 4, timeoutMs: 2_000 });
}

/** Some row, by its name. */
async function insert(name: string, queries: Queries): Promise<void> {
  const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
  await queries.insertInto("applications").values(row).execute();
}

/** The rows whose names begin so, in order. */
async function find(start: string, queries: Queries = database.reads): Promise<string[]> {
  const rows = await queries.selectFrom("applications").select("name").orderBy("name").execute();
  return rows.map(({ name }) => name).filter((name) => name.startsWith(start));
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("Database.write", () => {
  it("resolves with what the work returned, and then everybody's reads see it, here and in other processes", async () => {
    const other = await open();
    assert.equal(await database.write(({ queries }) => insert("seen", queries).then(() => 7)), 7);
    assert.deepEqual([await find("seen"), await find("seen", other.reads)], [["seen"], ["seen"]]);
    await other.close();
  });

  it("reads see it also in a turn in which somebody has read before", async () => {
    for (let n = 0; n < 20; n += 1) {
      const written = database.write(({ queries }) => insert(`turn ${n}`, queries));
      await Promise.all([find("turn"), written, find("turn")]);
      assert.equal((await find("turn")).length, n + 1);
    }
  });

  it("statements of the work see what those before them wrote; nobody else does before it is done", async () => {
    await database.write(async ({ queries }) => {
      await insert("half 1", queries);
      assert.deepEqual(await find("half", queries), ["half 1"]);
      assert.deepEqual(await find("half"), []);
      await nextTurn();
      await insert("half 2", queries);
      await nextTurn();
      assert.deepEqual(await find("half", queries), ["half 1", "half 2"]);
      assert.deepEqual(await find("half"), []);
    });
    assert.deepEqual(await find("half"), ["half 1", "half 2"]);
  });

  it("nothing stays of work that throws, and the error is passed on as it is", async () => {
    const error = new Error("on purpose");
    const failing = database.write(async ({ queries }) => {
      await insert("undone", queries);
      throw error;
    });
    await assert.rejects(failing, (thrown) => thrown === error);
    assert.deepEqual(await find("undone"), []);
  });

  it("nothing stays of work in which a statement fails", async () => {
    const failing = database.write(async ({ queries }) => {
      await insert("twice 1", queries);
      await insert("twice 2", queries);
      await insert("twice 1", queries);
    });
    await assert.rejects(failing);
    assert.deepEqual(await find("twice"), []);
    await database.write(({ queries }) => insert("twice 1", queries));
    assert.deepEqual(await find("twice"), ["twice 1"]);
  });

  it("of many at once, failing ones among them, each gets its own result or error and touches no other", async () => {
    const works = Array.from({ length: 60 }, (_, n) =>
      database.write(async ({ queries }) => {
        await insert(`many ${n}`, queries);
        if (n % 2 === 1) await nextTurn();
        if (n % 3 === 1) throw new Error(`error ${n}`);
        if (n % 3 === 2) await insert(`many ${n}`, queries);
        return n;
      }),
    );
    const settled = await Promise.allSettled(works);
    for (const [n, result] of settled.entries()) {
      assert.equal(result.status, n % 3 === 0 ? "fulfilled" : "rejected");
      if (result.status === "fulfilled") assert.equal(result.value, n);
      else if (n % 3 === 1) assert.equal(result.reason.message, `error ${n}`);
    }
    const stored = settled.flatMap((result, n) => (result.status === "fulfilled" ? [`many ${n}`] : []));
    assert.deepEqual(await find("many"), stored.sort());
  });

  it("a write may be begun by whoever waited for another", async () => {
    const order: number[] = [];
    await Promise.all(
      [1, 2, 3].map((n) =>
        database
          .write(({ queries }) => insert(`chain ${n}`, queries))
          .then(() => database.write(({ queries }) => insert(`chain ${n} again`, queries)))
          .then(() => order.push(n)),
      ),
    );
    assert.equal(order.length, 3);
    assert.equal((await find("chain")).length, 6);
  });
});

describe("Transaction.afterCommit", () => {
  it("runs once the work is on disk and before its caller goes on, in order", async () => {
    const log: string[] = [];
    const other = await open();
    await database.write(async ({ queries, afterCommit }) => {
      afterCommit(() => log.push("first"));
      await insert("effect", queries);
      afterCommit(() => log.push("second"));
      log.push("work done");
    });
    log.push("caller goes on");
    assert.deepEqual(log, ["work done", "first", "second", "caller goes on"]);
    assert.deepEqual(await find("effect", other.reads), ["effect"]);
    await other.close();
  });

  it("that throws is its own caller's failure: everybody's work stays, and the others hear of theirs", async () => {
    const results = await Promise.allSettled([
      database.write(async ({ queries, afterCommit }) => {
        afterCommit(() => {
          throw new Error("on purpose");
        });
        await insert("throwing effect", queries);
      }),
      database.write(({ queries }) => insert("throwing effect of another", queries)),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "fulfilled"],
    );
    assert.deepEqual(await find("throwing effect"), ["throwing effect", "throwing effect of another"]);
  });

  it("does not run when the work fails", async () => {
    const log: string[] = [];
    const results = await Promise.allSettled([
      database.write(async ({ afterCommit }) => {
        afterCommit(() => log.push("of the failing"));
        throw new Error("on purpose");
      }),
      database.write(async ({ queries, afterCommit }) => {
        afterCommit(() => log.push("of the failing statement"));
        await insert("seen", queries);
      }),
      database.write(async ({ queries, afterCommit }) => {
        afterCommit(() => log.push("of the other"));
        await insert("effect of the other", queries);
      }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "rejected", "fulfilled"],
    );
    assert.deepEqual(log, ["of the other"]);
  });
});

describe("Database", () => {
  it("ping resolves while the database answers, and rejects afterwards", async () => {
    const other = await open();
    await other.ping();
    await other.close();
    await assert.rejects(other.ping());
    await assert.rejects(other.write(({ queries }) => insert("too late", queries)));
    assert.deepEqual(await find("too late"), []);
  });

  it("close waits for writes that have begun", { timeout: 10_000 }, async () => {
    const other = await open();
    const written = other.write(async ({ queries }) => {
      await insert("in time", queries);
      for (let n = 0; n < 5; n += 1) await nextTurn();
    });
    await nextTurn();
    await Promise.all([written, other.close()]);
    assert.deepEqual(await find("in time"), ["in time"]);
  });
});

describe("a database that is busy", () => {
  it("refuses a write with ServiceUnavailable once DATABASE_TIMEOUT_MS has passed, and serves again afterwards", async () => {
    const impatient = await openDatabase(testDatabase.url, { connectionsMax: 2, timeoutMs: 200 });
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    const holder = database.write(async ({ queries }) => {
      await insert("holder", queries);
      hold();
      await isReleased;
    });
    await isHeld;
    // One engine has one writer at a time, the other has two connections here: the third is too much for both.
    const attempts = [1, 2, 3].map((each) =>
      impatient.write(async ({ queries }) => {
        await insert(`attempt ${each}`, queries);
        await isReleased;
      }),
    );
    await assert.rejects(attempts[2] ?? Promise.resolve(), { condition: "ServiceUnavailable" });
    release();
    await Promise.allSettled([holder, ...attempts]);
    assert.ok(!(await find("attempt")).includes("attempt 3"));
    await impatient.write(({ queries }) => insert("served again", queries));
    assert.deepEqual(await find("served again"), ["served again"]);
    await impatient.close();
  });
});

describe("a database that takes connections and says nothing", () => {
  it("refuses reads and writes with ServiceUnavailable in time, and what fails later harms nobody", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo; // it listens on TCP
    const mute = await openDatabase(`postgres://nobody@127.0.0.1:${port}/nothing`, {
      connectionsMax: 2,
      timeoutMs: 150,
    });
    await assert.rejects(
      mute.write(({ queries }) => insert("nowhere", queries)),
      { condition: "ServiceUnavailable" },
    );
    await assert.rejects(mute.ping(), { condition: "ServiceUnavailable" });
    for (const socket of sockets) socket.destroy();
    silent.close();
    // The reservations that were given up fail about now; an unhandled rejection would fail this test.
    await new Promise((resolve) => setTimeout(resolve, 400));
    await mute.close();
  });
});

describe("a new file that another process begins with in the same moment", () => {
  it("is opened when that has done what it does", async () => {
    const file = join(folder, "new.db");
    const writer = new Worker(
      `const { DatabaseSync } = require("node:sqlite");
      const database = new DatabaseSync(require("node:worker_threads").workerData);
      database.exec("create table t (a); begin immediate; insert into t values (1)");
      require("node:worker_threads").parentPort.postMessage("it writes");
      setTimeout(() => database.exec("commit"), 150);`,
      { eval: true, workerData: file },
    );
    await once(writer, "message");
    const opened = await openDatabase(`file://${file}`, { connectionsMax: 1, timeoutMs: 5_000 });
    await opened.ping();
    await opened.close();
    await once(writer, "exit");
  });
});
