import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { createTestDatabase, type TestDatabase } from "../../test/databases.ts";
import { ApiError } from "../errors.ts";
import type { Database, Joint, Queries } from "./database.ts";
import { createJoints, type Joints } from "./joint.ts";
import type { EngineTransaction, EngineWrite } from "./joint-work.ts";
import { migrate } from "./migrate.ts";
import { openDatabase } from "./open.ts";

/** What becomes of `Database.together` when what it stands on fails. */

const split = { isSplittable: true };
const whole = { isSplittable: false };
const isUnavailable = (error: unknown) => error instanceof ApiError && error.condition === "ServiceUnavailable";

describe("Database.together on an engine that fails", () => {
  /** An engine that keeps what is written in a list, and fails where it is told to. */
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
      write: (joints: Joints, name: string) => joints.write(async () => void rows.push(name)),
    };
  }

  /** Runs parts as a batch does: one that fails stops nothing, and one that is refused may find others in its way. */
  async function runParts(joint: Joint, parts: readonly (() => Promise<void>)[]): Promise<string[]> {
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
      const outcome = await joint
        .part(
          () => answer(part),
          (condition) => condition === "ServiceUnavailable",
        )
        .catch((error) => `lost: ${error.condition}`);
      outcomes.push(outcome);
    }
    return outcomes;
  }

  it("split: a commit that fails before the last part loses what it held, and nothing is run twice", async () => {
    const { kept, engineWrite, write } = fakeEngine({ commit: (count) => count === 2 });
    const joints = createJoints(engineWrite, 1_000);
    const runs: string[] = [];
    const create = (name: string) => async () => {
      runs.push(name);
      await write(joints, name);
    };
    const hash = (name: string) => () => joints.apart(name, async () => {});
    let outcomes: string[] = [];
    await joints.together(async (joint) => {
      outcomes = await runParts(joint, [create("a"), hash("1"), create("b"), hash("2")]);
    }, split);
    assert.deepEqual(runs, ["a", "b"]);
    assert.deepEqual(kept, ["a"]);
    assert.deepEqual(outcomes, ["done", "done", "done", "lost: ServiceUnavailable"]);
  });

  it("split: parts after a lost transaction have one of their own", async () => {
    const { kept, engineWrite, write } = fakeEngine();
    const joints = createJoints(engineWrite, 50);
    let outcomes: string[] = [];
    await joints.together(async (joint) => {
      outcomes = await runParts(joint, [
        () => write(joints, "a"),
        () => new Promise((resolve) => setTimeout(resolve, 200)),
        () => write(joints, "b"),
        () => write(joints, "c"),
      ]);
    }, split);
    assert.deepEqual(outcomes, ["done", "done", "lost: ServiceUnavailable", "done"]);
    assert.deepEqual(kept, ["c"]);
  });

  it("a transaction that cannot be undone to its part is lost as ServiceUnavailable, not as what the part said", async () => {
    const { kept, engineWrite, write } = fakeEngine({ rollback: true });
    const joints = createJoints(engineWrite, 1_000);
    await assert.rejects(
      joints.together(async () => {
        await write(joints, "a");
        const refused = joints.write(async () => {
          throw new ApiError("ItemDoesNotExist");
        });
        await assert.rejects(refused, ({ condition }) => condition === "ItemDoesNotExist");
        await assert.rejects(write(joints, "b"), isUnavailable);
      }, whole),
      isUnavailable,
    );
    assert.deepEqual(kept, []);
  });

  it("is given up when it takes too long, also when it had to wait long to begin", { timeout: 5_000 }, async () => {
    const { kept, engineWrite, write } = fakeEngine({ openAfterMs: 100 });
    const joints = createJoints(engineWrite, 50);
    const slow = joints.together(async () => {
      await write(joints, "a");
      await new Promise((resolve) => setTimeout(resolve, 300));
      await write(joints, "b");
    }, whole);
    await assert.rejects(slow, isUnavailable);
    assert.deepEqual(kept, []);
  });
});

describe("Database.together", () => {
  let folder: string;
  let testDatabase: TestDatabase;
  let database: Database;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    testDatabase = await createTestDatabase(folder);
    database = await openDatabase(testDatabase.url, { connectionsMax: 4, timeoutMs: 1_000 });
    await migrate(database);
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  function write(name: string): Promise<void> {
    return database.write(async ({ queries }) => {
      const row = { application_id: name, name, token_version: 0, created_at: 0, deleted_at: null };
      await queries.insertInto("applications").values(row).execute();
    });
  }

  it("a read that fails takes nothing with it that is said to be on disk", async () => {
    for (const options of [split, whole]) {
      const start = `${options.isSplittable}`;
      let said: string[] = [];
      const add = (joint: Joint, name: string) =>
        joint
          .part(() => write(`${start} ${name}`))
          .then(
            () => said.push(name),
            () => {
              said = []; // as a batch does: what came before was in the same transaction
            },
          );
      await database
        .together(async (joint) => {
          await add(joint, "a");
          await joint.part(async () => {
            await assert.rejects(sql`select no_such_column from applications`.execute(database.reads));
          });
          await add(joint, "b");
          await add(joint, "c");
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

  it("split: others need not wait for the end of what takes long", async () => {
    await database.together(async (joint) => {
      await joint.part(() => write("long 1"));
      await joint.part(() => new Promise((resolve) => setTimeout(resolve, 100)));
      await joint.part(async () => {
        const other = await openDatabase(testDatabase.url, { connectionsMax: 1, timeoutMs: 1_000 });
        const rows = await other.reads.selectFrom("applications").select("name").where("name", "=", "long 1").execute();
        await other.close();
        assert.equal(rows.length, 1);
      });
    }, split);
  });

  it("many that take long leave a connection to those who write or read alone", async () => {
    const opened = Promise.withResolvers<void>();
    const closing = Promise.withResolvers<void>();
    let count = 0;
    const long = Array.from({ length: 8 }, (_, n) =>
      database.together(async () => {
        await write(`many ${n}`);
        count += 1;
        opened.resolve();
        await closing.promise;
      }, whole),
    );
    await opened.promise;
    // As a rule more than one has begun by now, and none can end.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await database.reads.selectFrom("applications").select("name").execute(); // in time, or it fails
    assert.ok(count < 4);
    closing.resolve();
    await Promise.all(long);
  });

  it("work that swallows the failure of a statement is not said to be on disk when it is not", async () => {
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
