import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type OpenTestDatabase, openTestDatabase } from "../../test/databases.ts";
import type { Database } from "./database.ts";
import { prepare } from "./prepared.ts";

let opened: OpenTestDatabase;
let database: Database;
before(async () => {
  opened = await openTestDatabase({ connectionsMax: 4, timeoutMs: 10_000 });
  database = opened.database;
});
after(() => opened.close());

interface Row {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  readonly deletedAt: number | null;
}

const insert = prepare<Row, unknown>((queries, parameter) =>
  queries.insertInto("applications").values({
    application_id: parameter("id"),
    name: parameter("name"),
    token_version: 3,
    created_at: parameter("at"),
    deleted_at: parameter("deletedAt"),
  }),
);

let built = 0;
const find = prepare<{ name: string; least: number }, { application_id: string; token_version: number }>(
  (queries, parameter) => {
    built += 1;
    return queries
      .selectFrom("applications")
      .select(["application_id", "token_version"])
      .where("token_version", "=", 3)
      .where("name", "=", parameter("name"))
      .where("created_at", ">=", parameter("least"))
      .where((expression) => expression.or([expression("name", "=", parameter("name")), expression.lit(false)]))
      .orderBy("application_id");
  },
);

describe("prepare", () => {
  before(() =>
    database.write(async ({ queries }) => {
      await insert(queries, { id: "a", name: "x", at: 1, deletedAt: null });
      await insert(queries, { id: "b", name: "x", at: 2, deletedAt: 9 });
      await insert(queries, { id: "c", name: "'; drop table applications; --", at: -5, deletedAt: null });
    }),
  );

  it("substitutes each value wherever its name occurs, and does not change constants", async () => {
    const [row] = await find(database.reads, { name: "x", least: 2 });
    assert.deepEqual({ ...row }, { application_id: "b", token_version: 3 });
    assert.equal((await find(database.reads, { name: "x", least: 0 })).length, 2);
    assert.equal((await find(database.reads, { name: "y", least: 0 })).length, 0);
    const [quoted] = await find(database.reads, { name: "'; drop table applications; --", least: -5 });
    assert.equal(quoted?.application_id, "c");
  });

  it("accepts null as a value", async () => {
    const rows = await database.reads.selectFrom("applications").selectAll().orderBy("application_id").execute();
    assert.deepEqual(
      rows.map((row) => row.deleted_at),
      [null, 9, null],
    );
  });

  it("compiles the statement once, however often and on whichever connection it runs", async () => {
    await find(database.reads, { name: "x", least: 1 });
    const before = built;
    await database.write(({ queries }) => find(queries, { name: "x", least: 1 }));
    await Promise.all(Array.from({ length: 20 }, (_, least) => find(database.reads, { name: "x", least })));
    assert.equal(built, before);
    assert.equal(built, 1);
  });

  it("runs in the transaction of the given queries", async () => {
    const undo = new Error("undo");
    const work = database.write(async ({ queries }) => {
      await insert(queries, { id: "d", name: "inside", at: 0, deletedAt: null });
      assert.equal((await find(queries, { name: "inside", least: 0 })).length, 1);
      assert.equal((await find(database.reads, { name: "inside", least: 0 })).length, 0);
      throw undo;
    });
    await assert.rejects(work, undo);
    assert.equal((await find(database.reads, { name: "inside", least: 0 })).length, 0);
  });

  it("rejects when the statement fails", async () => {
    const row = { id: "a", name: "taken", at: 0, deletedAt: null };
    await assert.rejects(database.write(({ queries }) => insert(queries, row)));
  });
});
