import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type RawBuilder, sql } from "kysely";
import { type OpenTestDatabase, openTestDatabase } from "../../test/databases.ts";
import type { Database } from "./database.ts";
import { prepareLookup } from "./prepared.ts";

const isPostgres = process.env["TEST_DATABASE_URL"] !== undefined;

let opened: OpenTestDatabase;
let database: Database;
before(async () => {
  opened = await openTestDatabase({ connectionsMax: 4, timeoutMs: 10_000 });
  database = opened.database;
});
after(() => opened.close());

interface Key {
  readonly applicationId: string;
  readonly name: string;
  readonly least: number;
}

interface Found {
  readonly application_id: string;
  readonly name: string;
  readonly created_at: number;
  readonly deleted_at: number | null;
}

const find = prepareLookup<Key, Found>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select(["application_id", "name", "created_at", "deleted_at"])
    .where("application_id", "=", parameter("applicationId"))
    .where("name", "=", parameter("name"))
    .where("created_at", ">=", parameter("least")),
);

const findNamed = prepareLookup<{ "row.application_id": string }, { name: string }>((queries, parameter) =>
  queries.selectFrom("applications").select("name").where("application_id", "=", parameter("row.application_id")),
);

const findAnywhere = prepareLookup<{ name: string }, { application_id: string }>((queries, parameter) =>
  queries.selectFrom("applications").select("application_id").where("name", "=", parameter("name")),
);

const findWhole = prepareLookup<{ applicationId: string }, object>((queries, parameter) =>
  queries.selectFrom("applications").selectAll().where("application_id", "=", parameter("applicationId")),
);

const findNewest = prepareLookup<{ applicationId: string; least: number }, Pick<Found, "name">>(
  (queries, parameter) =>
    queries
      .selectFrom("applications")
      .select("name")
      .where("application_id", "=", parameter("applicationId"))
      .where("created_at", ">=", parameter("least")),
  { isCommon: true },
);

/** Values of all types that our columns, and the expressions of lookups, have. */
const findTypes = prepareLookup<{ applicationId: string; name: string }, object>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select(["name", "deleted_at"])
    .select(sql`-9007199254740991::bigint`.as("bigint"))
    .select(sql`7::integer`.as("integer"))
    .select(sql`-0.1::double precision`.as("double"))
    .select(sql`1.5e300::double precision`.as("large"))
    .select(sql`1.5::numeric`.as("numeric"))
    .select(sql`true`.as("yes"))
    .select(sql`false`.as("no"))
    .select(sql`''::text`.as("empty"))
    .select(sql`repeat('é', 100000)`.as("long"))
    .select(sql`'\\x00ff'::bytea`.as("bytes"))
    .where("application_id", "=", parameter("applicationId"))
    .where("name", "=", parameter("name")),
);

/** Divides, so that a value can make the statement fail. */
const divide = prepareLookup<{ applicationId: string; by: number }, { quotient: number }>((queries, parameter) =>
  queries
    .selectFrom("applications")
    .select(sql<number>`created_at / cast(${parameter("by")} as bigint)`.as("quotient"))
    .where("application_id", "=", parameter("applicationId")),
);

const names = [
  "plain",
  'a "quoted" one',
  "back\\slash",
  "{braces}, comma",
  "null",
  "",
  "NULL",
  "日本 ü 🙂",
  "line\nbreak",
];

describe("batched lookups", () => {
  before(() =>
    database.write(async ({ queries }) => {
      const rows = names.map((name, index) => ({
        application_id: `app ${index}`,
        name,
        token_version: 0,
        created_at: index,
        deleted_at: index % 2 === 0 ? null : index,
      }));
      await queries.insertInto("applications").values(rows).execute();
    }),
  );

  const keyOf = (index: number, least = 0): Key => ({ applicationId: `app ${index}`, name: names[index] ?? "", least });
  function statements(): number {
    return database.statistics().statements.counts.reduce((sum, count) => sum + count, 0);
  }

  it("return the rows of each caller, for any values and concurrency", async () => {
    const keys = names.flatMap((_, index) => [keyOf(index), keyOf(index, index), keyOf(index, index + 1)]);
    const found = await Promise.all(keys.map((key) => find(database.reads, key)));
    for (const [position, rows] of found.entries()) {
      const index = Math.floor(position / 3);
      const row = {
        application_id: `app ${index}`,
        name: names[index],
        created_at: index,
        deleted_at: index % 2 === 0 ? null : index,
      };
      assert.deepEqual(
        rows.map((each) => ({ ...each })),
        position % 3 === 2 ? [] : [row],
      );
    }
  });

  it("return the current columns after a migration", {
    skip: !isPostgres && "SQLite sends none together",
  }, async () => {
    const alter = (change: RawBuilder<unknown>) => sql`alter table applications ${change}`.execute(database.reads);
    const findTwice = () =>
      Promise.all([1, 2].map((index) => findWhole(database.reads, { applicationId: `app ${index}` })));
    await findTwice();
    await alter(sql`add column added bigint not null default 7`);
    await alter(sql`rename column signing_secret to renamed`);
    try {
      const [[row] = []] = await findTwice();
      assert.deepEqual({ ...row }, { ...row, application_id: "app 1", added: 7 });
      assert.deepEqual(["renamed" in (row ?? {}), "signing_secret" in (row ?? {})], [true, false]);
    } finally {
      await alter(sql`drop column added`);
      await alter(sql`rename column renamed to signing_secret`);
    }
  });

  it("return the same rows as single statements", async () => {
    const single = await find(database.reads, keyOf(1));
    const [batched] = await Promise.all([find(database.reads, keyOf(1)), find(database.reads, keyOf(1))]);
    assert.deepEqual({ ...batched?.[0] }, { ...single[0] });
    assert.deepEqual(Object.keys(batched?.[0] ?? {}), Object.keys(single[0] ?? {}));
  });

  it("return values of every type like single statements", {
    skip: !isPostgres && "the types of PostgreSQL",
  }, async () => {
    const single = await Promise.all(names.map((_, index) => findTypes(database.reads, keyOf(index))));
    const batched = await Promise.all([1, 1, 2].map((index) => findTypes(database.reads, keyOf(index))));
    assert.deepEqual(
      batched.map(([row]) => ({ ...row })),
      [1, 1, 2].map((index) => ({ ...single[index]?.[0] })),
    );
  });

  it("are one statement for each application", { skip: !isPostgres && "SQLite has no round trips" }, async () => {
    const earlier = statements();
    const keys = Array.from({ length: 20 }, (_, index) => keyOf(index % 2));
    await Promise.all(keys.map((key) => find(database.reads, key)));
    assert.equal(statements() - earlier, 2);
  });

  it("are sent once if the application is their only value, however many callers there are", {
    skip: !isPostgres && "SQLite has no round trips",
  }, async () => {
    const earlier = statements();
    const indexes = Array.from({ length: 100 }, (_, index) => index % 3);
    const found = await Promise.all(
      indexes.map((index) => findNamed(database.reads, { "row.application_id": `app ${index}` })),
    );
    assert.deepEqual(
      found.map(([row]) => row?.name),
      indexes.map((index) => names[index]),
    );
    assert.equal(statements() - earlier, 3);
  });

  it("are sent once if they are common and equal, and give each caller a separate list", {
    skip: !isPostgres && "SQLite has no round trips",
  }, async () => {
    const earlier = statements();
    const least = [0, 1, 2, 0, 1, 2, 0];
    const found = await Promise.all(
      least.map((each) => findNewest(database.reads, { applicationId: "app 1", least: each })),
    );
    assert.deepEqual(
      found.map((rows) => rows.map(({ name }) => name)),
      least.map((each) => (each > 1 ? [] : [names[1]])),
    );
    assert.equal(statements() - earlier, 1);
    found[0]?.pop();
    assert.equal(found[3]?.length, 1);
  });

  it("find nothing for null, also together with a string that reads like it", async () => {
    const nothing = { ...keyOf(4), name: null as unknown as string }; // as a mistake in the code could
    const found = await Promise.all([nothing, keyOf(4)].map((key) => find(database.reads, key)));
    assert.deepEqual(
      found.map(({ length }) => length),
      [0, 1],
    );
  });

  it("find the application's id under any of its names, and run as single statements without one", async () => {
    const indexes = [0, 1, 2, 1];
    const found = await Promise.all(
      indexes.map((index) => findNamed(database.reads, { "row.application_id": `app ${index}` })),
    );
    assert.deepEqual(
      found.map((rows) => rows.map(({ name }) => name)),
      indexes.map((index) => [names[index]]),
    );
    const anywhere = await Promise.all(
      indexes.map((index) => findAnywhere(database.reads, { name: names[index] ?? "" })),
    );
    assert.deepEqual(
      anywhere.map((rows) => rows.map(({ application_id }) => application_id)),
      indexes.map((index) => [`app ${index}`]),
    );
  });

  it("reject only the lookup that has an undefined value", {
    skip: !isPostgres && "SQLite binds null",
  }, async () => {
    const missing = { "row.application_id": undefined as unknown as string }; // as a mistake in the code could
    const outcomes = await Promise.allSettled([
      find(database.reads, keyOf(0)),
      findNamed(database.reads, missing),
      findNamed(database.reads, missing),
      find(database.reads, keyOf(1)),
      findAnywhere(database.reads, { name: names[2] ?? "" }),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "fulfilled", "fulfilled"],
    );
    assert.equal((await find(database.reads, keyOf(1)))[0]?.name, names[1]);
  });

  it("reject only the lookup that fails", { skip: !isPostgres && "SQLite divides by zero" }, async () => {
    const outcomes = await Promise.allSettled(
      [1, 0, 2].map((by) => divide(database.reads, { applicationId: "app 1", by })),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
  });

  it("see the writes of the outer transaction that they belong to, and others do not", async () => {
    const undo = new Error("undo");
    const key = { applicationId: "new", name: "inside", least: 0 };
    const row = { application_id: "new", name: "inside", token_version: 0, created_at: 1, deleted_at: null };
    const work = database.nestTransactions(
      async () => {
        await database.write(({ queries }) => queries.insertInto("applications").values(row).execute());
        const found = await Promise.all([find(database.reads, key), find(database.reads, key)]);
        assert.deepEqual(
          found.map(({ length }) => length),
          [1, 1],
        );
        throw undo;
      },
      { isSplittable: false },
    );
    const outside = await Promise.all([find(database.reads, key), find(database.reads, key)]);
    await assert.rejects(work, undo);
    assert.deepEqual(
      [...outside, await find(database.reads, key)].map(({ length }) => length),
      [0, 0, 0],
    );
  });
});
