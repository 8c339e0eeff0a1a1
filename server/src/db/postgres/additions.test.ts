import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reopenForEachTest } from "../../../test/databases.ts";
import { isUniqueViolation } from "../dialect.ts";
import { prepareInsert } from "../prepared.ts";

/** Behaviour of PostgreSQL only: concurrent additions of rows share statements. */

const skip = process.env["TEST_DATABASE_URL"] === undefined && "needs PostgreSQL";

interface Row {
  readonly application_id: string;
  readonly name: string;
  readonly token_version: number;
  readonly created_at: number;
  readonly deleted_at: number | null;
}

const insert = prepareInsert<Row, never>((queries, parameter) =>
  queries.insertInto("applications").values({
    application_id: parameter("application_id"),
    name: parameter("name"),
    token_version: parameter("token_version"),
    created_at: parameter("created_at"),
    deleted_at: parameter("deleted_at"),
  }),
);

/** Adds a row, or renames the one that has the id. */
const insertOrRename = prepareInsert<Row, Pick<Row, "application_id" | "name" | "created_at">>(
  (queries, parameter) =>
    queries
      .insertInto("applications")
      .values({
        application_id: parameter("application_id"),
        name: parameter("name"),
        token_version: parameter("token_version"),
        created_at: parameter("created_at"),
        deleted_at: parameter("deleted_at"),
      })
      .onConflict((conflict) =>
        conflict.column("application_id").doUpdateSet(({ ref }) => ({ name: ref("excluded.name") })),
      )
      .returning(["application_id", "name", "created_at"]),
  ["application_id"],
);

describe("rows that are added concurrently", { skip }, () => {
  const opened = reopenForEachTest({ connectionsMax: 4, timeoutMs: 10_000 }); // no group has failed yet

  let count = 0;
  function newRow(given: Partial<Row> = {}): Row {
    count += 1;
    const times = { token_version: count, created_at: 2 ** 52 + count, deleted_at: count % 2 === 0 ? null : count };
    return { application_id: `row ${count}`, name: `name ${count}`, ...times, ...given };
  }

  const add = (row: Row) => opened.database.write(({ queries }) => insert(queries, row), { addsTo: "app" });
  const addOrRename = async (row: Row) =>
    (await opened.database.write(({ queries }) => insertOrRename(queries, row), { addsTo: "app" }))[0];

  async function stored(rows: readonly Row[]): Promise<Row[]> {
    const found = await opened.database.reads
      .selectFrom("applications")
      .select(["application_id", "name", "token_version", "created_at", "deleted_at"])
      .where(
        "application_id",
        "in",
        rows.map((row) => row.application_id),
      )
      .orderBy("token_version")
      .execute();
    return found.map((row) => ({ ...row }));
  }

  function statements(): number {
    return opened.database.statistics().statements.counts.reduce((sum, each) => sum + each, 0);
  }

  it("share statements, and each row has its own values", async () => {
    const rows = ["", "null", '"quoted" \\ {a,b}', "line\nbreak", "日本 ü 🙂"].map((name) => newRow({ name }));
    const others = Array.from({ length: 32 }, () => newRow());
    const earlier = statements();
    await Promise.all([...rows, ...others].map(add));
    assert.equal(statements() - earlier, 4, "32, 4 and 1 rows, and the commit");
    assert.deepEqual(await stored([...rows, ...others]), [...rows, ...others]);
  });

  it("are all stored except for one that fails", async () => {
    const rows = Array.from({ length: 10 }, () => newRow());
    const [first] = rows;
    assert.ok(first);
    await add(first);
    const outcomes = await Promise.allSettled(rows.map(add));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      rows.map((row) => (row === first ? "rejected" : "fulfilled")),
    );
    assert.ok(outcomes[0]?.status === "rejected" && isUniqueViolation(outcomes[0].reason));
    assert.deepEqual(await stored(rows), rows);
  });

  it("are returned to their callers, even if several have one key", async () => {
    const rows = Array.from({ length: 40 }, (_, index) => newRow({ application_id: `shared ${index % 7}` }));
    const returned = await Promise.all(rows.map(addOrRename));
    for (const [index, row] of rows.entries()) {
      const first = rows[index % 7];
      const { application_id, name } = row;
      assert.deepEqual({ ...returned[index] }, { application_id, name, created_at: first?.created_at });
    }
    const last = await stored(rows);
    assert.deepEqual(new Set(last.map(({ name }) => name)), new Set(rows.slice(-7).map(({ name }) => name)));
  });
});
