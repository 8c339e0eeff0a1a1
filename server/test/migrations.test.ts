import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import postgres from "postgres";
import { identifyCrash } from "../src/crashes/crash-identity.ts";
import type { Database } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { migrations } from "../src/db/migrations/list.ts";
import { openDatabase } from "../src/db/open.ts";
import { deploymentTables, tableCatalogue, tablesInErasureOrder } from "../src/db/table-catalogue.ts";
import type { CrashGroupVersionRow } from "../src/db/tables.ts";
import { copyTestDatabase, createTestDatabase } from "./databases.ts";
import { runProgram } from "./running-server.ts";

let folder: string;
const drops: (() => Promise<void>)[] = [];
before(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
});
after(async () => {
  for (const drop of drops) await drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The URL of a database that does not exist yet, or is empty. */
async function createEmpty(): Promise<string> {
  const { url, drop } = await createTestDatabase(newFolder());
  drops.push(drop);
  return url;
}

function newFolder(): string {
  return mkdtempSync(join(folder, "database-"));
}

async function withDatabase<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(url, { connectionsMax: 2, timeoutMs: 5_000 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Creates the empty schema of a release that had this many migrations, from that of an earlier one if there is one. */
async function migrateTo(released: number, database: Database, earlier?: number): Promise<void> {
  const { ddl } = database.dialect;
  await database.write(async ({ queries }) => {
    if (earlier === undefined) {
      await sql`create table schema_migrations (name ${ddl.text} not null primary key) ${ddl.tableOptions}`.execute(
        queries,
      );
    }
    for (const { name, statements } of migrations.slice(earlier, released)) {
      for (const statement of statements(ddl)) await statement.execute(queries);
      await sql`insert into schema_migrations (name) values (${name})`.execute(queries);
    }
  });
}

function versionOf(row: CrashGroupVersionRow): (string | number)[] {
  return [row.app_version, row.reports, row.first_seen_at, row.last_seen_at];
}

function runMigrate(url: string) {
  return runProgram("src/cli.ts", ["migrate"], { DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests" });
}

interface Table {
  readonly name: string;
  /** Name, type, and whether it may be null. */
  readonly columns: readonly string[];
  readonly indexes: readonly { readonly kind: "primary" | "unique" | "plain"; readonly columns: readonly string[] }[];
  readonly foreignKeys: readonly { columns: readonly string[]; parent: string; parentColumns: readonly string[] }[];
}

/** The schema as the engine's catalogue describes it. */
async function readSchema(url: string): Promise<Table[]> {
  const tables = url.startsWith("file:") ? readSqliteSchema(url) : await readPostgresSchema(url);
  const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
  return tables.toSorted(byText).map(({ name, columns, indexes, foreignKeys }) => ({
    name,
    columns: columns.toSorted(),
    indexes: indexes.toSorted(byText),
    foreignKeys: foreignKeys.toSorted(byText),
  }));
}

/** Every definition with all its details: types, defaults, collations, conditions, expressions, and the order of columns. */
async function readExactSchema(url: string): Promise<string[]> {
  const definitions = await withDatabase(url, async ({ reads }) => {
    const text = url.startsWith("file:")
      ? sql<{ text: string }>`select sql as text from sqlite_schema where sql is not null`
      : sql<{ text: string }>`
          select concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
            collname, pg_get_expr(adbin, adrelid)) as text
          from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_collation on pg_collation.oid = attcollation
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
          where relkind = 'r' and relnamespace = current_schema()::regnamespace and attnum > 0 and not attisdropped
          union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
          where connamespace = current_schema()::regnamespace
          union all select indexdef from pg_indexes where schemaname = current_schema()`;
    return (await text.execute(reads)).rows;
  });
  return definitions.map((row) => inOneForm(row.text)).toSorted();
}

/** SQLite keeps the text of a table, to which it adds a column in its own place and with its own white space. */
function inOneForm(text: string): string {
  const [, head, definitions = "", options] = /^(create table \S+) \((.*)\)([^)]*)$/is.exec(text.trim()) ?? [];
  if (head === undefined) return text.trim();
  const listed = definitions.split(/,(?![^(]*\))/).map((each) => each.trim().replaceAll(/\s+/g, " "));
  const [columns, constraints] = [false, true].map((isConstraint) =>
    listed.filter((each) => /^(primary|foreign|unique|check|constraint)\b/i.test(each) === isConstraint),
  );
  return JSON.stringify([head.replaceAll('"', ""), columns, constraints, options]).toLowerCase();
}

async function readRefusals(url: string): Promise<string[]> {
  const names = sql<{ name: string }>`select name from schema_migrations where refuses_older = 1 order by name`;
  return withDatabase(url, async ({ reads }) => (await names.execute(reads)).rows.map(({ name }) => name));
}

function readSqliteSchema(url: string): Table[] {
  const database = new DatabaseSync(fileURLToPath(url), { readOnly: true });
  const all = (text: string, ...values: string[]) => database.prepare(text).all(...values) as Record<string, string>[]; // the columns of these pragmas
  const names = all(
    "select name from pragma_table_list where schema = 'main' and name not like 'sqlite\\_%' escape '\\'",
  );
  const tables = names.map(({ name = "" }) => ({
    name,
    columns: all(`select name || ' ' || type || ' ' || "notnull" as text from pragma_table_info(?)`, name).map(
      (row) => `${row["text"]}`,
    ),
    indexes: all("select * from pragma_index_list(?)", name).map((index) => ({
      kind:
        index["origin"] === "pk"
          ? ("primary" as const)
          : `${index["unique"]}` === "1"
            ? ("unique" as const)
            : ("plain" as const),
      columns: all("select name from pragma_index_info(?) order by seqno", `${index["name"]}`).map(
        (row) => `${row["name"]}`,
      ),
    })),
    foreignKeys: [
      ...Map.groupBy(all("select * from pragma_foreign_key_list(?) order by id, seq", name), ({ id }) => id).values(),
    ].map((rows) => ({
      columns: rows.map((row) => `${row["from"]}`),
      parent: `${rows[0]?.["table"]}`,
      parentColumns: rows.map((row) => `${row["to"]}`),
    })),
  }));
  database.close();
  return tables;
}

async function readPostgresSchema(url: string): Promise<Table[]> {
  const client = postgres(url, { max: 1 });
  const tables = await client<Table[]>`
    with names as (
      select attrelid as relation, attnum as number, attname::text as name from pg_attribute where attnum > 0
    )
    select
      t.relname::text as name,
      (select array_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), (select collname from pg_collation where oid = attcollation), attnotnull))
        from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped) as columns,
      coalesce((select json_agg(json_build_object(
        'kind', case when indisprimary then 'primary' when indisunique then 'unique' else 'plain' end,
        'columns', (select array_agg(name order by place) from unnest(indkey) with ordinality as k (n, place), names where relation = t.oid and number = n)))
        from pg_index where indrelid = t.oid), '[]') as indexes,
      coalesce((select json_agg(json_build_object(
        'columns', (select array_agg(name order by place) from unnest(conkey) with ordinality as k (n, place), names where relation = t.oid and number = n),
        'parent', confrelid::regclass::text,
        'parentColumns', (select array_agg(name order by place) from unnest(confkey) with ordinality as k (n, place), names where relation = confrelid and number = n)))
        from pg_constraint where conrelid = t.oid and contype = 'f'), '[]') as "foreignKeys"
    from pg_class t where t.relkind in ('r', 'p') and t.relnamespace = 'public'::regnamespace`;
  await client.end();
  return tables;
}

/** On PostgreSQL, the erasure of an application finds its events without a foreign key: migration 0054. */
const withoutForeignKeys: ReadonlySet<string> = new Set([
  "applications",
  ...(process.env["TEST_DATABASE_URL"] === undefined ? [] : ["events"]),
]);

describe("tenancy: an application is a shard", () => {
  let tables: Table[];
  before(async () => {
    const url = await createEmpty();
    await withDatabase(url, migrate);
    const deploymentOnly: readonly string[] = ["schema_migrations", ...deploymentTables];
    tables = (await readSchema(url)).filter(({ name }) => !deploymentOnly.includes(name));
  });

  it("every table of application data has application_id first in its primary key and in every unique index", () => {
    assert.ok(tables.length >= 7);
    for (const { name, indexes } of tables) {
      assert.equal(indexes.filter(({ kind }) => kind === "primary").length, 1, `${name} needs a primary key`);
      for (const { kind, columns } of indexes) {
        if (kind !== "plain") assert.equal(columns[0], "application_id", `${kind} index (${columns}) of ${name}`);
      }
    }
  });

  it("every foreign key begins with application_id on both sides, so that no row refers to another application", () => {
    assert.ok(tables.flatMap(({ foreignKeys }) => foreignKeys).length >= 6);
    for (const { name, foreignKeys } of tables) {
      if (!withoutForeignKeys.has(name)) assert.ok(foreignKeys.length > 0, `${name} refers to no other table`);
      for (const { columns, parent, parentColumns } of foreignKeys) {
        assert.equal(columns[0], "application_id", `${name} (${columns})`);
        assert.equal(parentColumns[0], "application_id", `${name} (${columns}) references ${parent}`);
      }
    }
  });

  it("the catalogue names the primary key of every table", () => {
    for (const { name, indexes } of tables) {
      const entry = tableCatalogue[name as keyof typeof tableCatalogue];
      const key: readonly string[] = "key" in entry ? entry.key : [];
      const columns = indexes.find(({ kind }) => kind === "primary")?.columns.slice(1) ?? [];
      if (columns.length > 0) assert.deepEqual(key.toSorted(), columns.toSorted(), name);
    }
  });

  it("erasing an application covers every table, children before parents", () => {
    const order: string[] = [...tablesInErasureOrder, "applications"];
    assert.deepEqual(order.toSorted(), tables.map(({ name }) => name).toSorted());
    for (const { name, foreignKeys } of tables) {
      for (const { parent } of foreignKeys) {
        assert.ok(order.indexOf(name) < order.indexOf(parent), `${name} before ${parent}`);
      }
    }
  });
});

describe("migrate", () => {
  it("migrating an older release leads to the schema of a new database", async () => {
    const fresh = await createEmpty();
    await withDatabase(fresh, migrate);
    const schema = await readSchema(fresh);
    const release = await createEmpty();
    let earlier: number | undefined;
    for (let released = 0; released <= migrations.length; released += 1) {
      // Of the releases before the last ones, every fourth: trying all takes time with the square of their number.
      if (released % 4 !== 0 && released < migrations.length - 10) continue;
      await withDatabase(release, (database) => migrateTo(released, database, earlier));
      earlier = released;
      const { url, drop } = await copyTestDatabase(newFolder(), release);
      const applied = await withDatabase(url, migrate);
      assert.deepEqual(
        applied,
        migrations.slice(released).map(({ name }) => name),
      );
      assert.deepEqual(await readSchema(url), schema);
      await drop();
    }
  });

  it("a new database has exactly the schema that the migrations create one by one, and nothing but their names in it", async () => {
    const [fresh, stepwise] = [await createEmpty(), await createEmpty()];
    await withDatabase(fresh, async (database) => {
      await migrate(database);
      for (const { name } of await readSchema(fresh)) {
        const { rows } = await sql`select * from ${sql.table(name)}`.execute(database.reads);
        assert.equal(rows.length, name === "schema_migrations" ? migrations.length : 0, name);
      }
    });
    await withDatabase(stepwise, (database) => migrateTo(migrations.length, database));
    const exact = await readExactSchema(fresh);
    assert.ok(exact.length > 200);
    assert.deepEqual(exact, await readExactSchema(stepwise));
    assert.deepEqual(await readRefusals(fresh), ["0034-revisions"]);
  });

  it("stored responses of an older release are counted by caller and hour", async () => {
    const older = await createEmpty();
    const released = migrations.findIndex(({ name }) => name === "0026-idempotency-usage");
    await withDatabase(older, async (database) => {
      await migrateTo(released, database);
      await database.write(async ({ queries }) => {
        await sql`insert into applications (application_id, name, token_version, created_at)
          values ('a', 'a', 0, 0)`.execute(queries);
        const expiries = [1, 3_600_000, 3_600_001];
        for (const [index, expiresAt] of expiries.entries()) {
          await sql`insert into kept_replies (application_id, user_id, device_id, key, reply, expires_at)
            values ('a', 'u', '', ${`k${index}`}, 'reply', ${expiresAt})`.execute(queries);
        }
      });
      await migrate(database);
      const rows = await database.reads.selectFrom("idempotency_usage").selectAll().orderBy("ends_at").execute();
      const counted = rows.map(({ user_id, ends_at, bytes, keys }) => [user_id, ...[ends_at, bytes, keys].map(Number)]);
      assert.deepEqual(counted, [
        ["u", 3_600_000, 14, 2],
        ["u", 7_200_000, 7, 1],
      ]);
    });
  });

  it("versions of the app that devices of an older release have are known, and not new", async () => {
    const older = await createEmpty();
    const released = migrations.findIndex(({ name }) => name === "0056-app-versions");
    await withDatabase(older, async (database) => {
      await migrateTo(released, database);
      await database.write(async ({ queries }) => {
        await sql`insert into applications (application_id, name, token_version, created_at)
          values ('a', 'a', 0, 0)`.execute(queries);
        for (const [id, version] of [
          ["d1", "1.0"],
          ["d2", null],
          ["d3", "1.1"],
          ["d4", "1.1"],
        ] as const) {
          await sql`insert into devices (application_id, id, platform, app_version, token_version, created_at, modified_at)
            values ('a', ${id}, 'test', ${version}, 0, 0, 0)`.execute(queries);
        }
      });
      await migrate(database);
      const rows = await database.reads.selectFrom("app_versions").selectAll().orderBy("app_version").execute();
      assert.deepEqual(
        rows.map(({ app_version, first_seen_at, reports }) => [app_version, Number(first_seen_at), Number(reports)]),
        [
          ["1.0", 0, 1],
          ["1.1", 0, 2],
        ],
      );
    });
  });

  it("crash reports of an older release are grouped", async () => {
    const older = await createEmpty();
    const released = migrations.findIndex(({ name }) => name === "0005-crash-groups");
    await withDatabase(older, async (database) => {
      await migrateTo(released, database);
      await database.write(async ({ queries }) => {
        for (const application_id of ["a", "b"]) {
          await sql`insert into applications (application_id, name, token_version, created_at)
            values (${application_id}, 'a', 0, 0)`.execute(queries);
          for (const id of ["d1", "d2"]) {
            await sql`insert into devices (application_id, id, platform, token_version, created_at, modified_at)
              values (${application_id}, ${id}, 'test', 0, 0, 0)`.execute(queries);
          }
        }
        // More rows than one chunk, in both applications: of two bugs, on two devices, in two versions.
        for (let n = 0; n < 120; n += 1) {
          const stackTrace = `Error: ${n}\n  at ${n % 3 === 0 ? "f" : "g"} (a.js:${n}:1)`;
          await sql`
            insert into crash_reports (application_id, id, device_id, stack_trace, app_version, created_at)
            values (${n % 2 === 0 ? "a" : "b"}, ${`${n}`.padStart(3, "0")}, ${n % 4 < 2 ? "d1" : "d2"}, ${stackTrace},
              ${n < 60 ? null : "2"}, ${1_000 + n})`.execute(queries);
        }
      });
      await migrate(database);

      const groups = await database.reads.selectFrom("crash_groups").selectAll().execute();
      const f = identifyCrash("Error\nat f (a.js)", null).fingerprint;
      const g = identifyCrash("Error\nat g (a.js)", null).fingerprint;
      const summary = (application: string, fingerprint: string) =>
        groups
          .filter((group) => group.application_id === application && group.fingerprint === fingerprint)
          .map((group) => [group.title, group.reports, group.devices, group.first_seen_at, group.last_seen_at]);
      assert.equal(groups.length, 4);
      assert.deepEqual(summary("a", f), [["Error: 0", 20, 2, 1_000, 1_114]]);
      assert.deepEqual(summary("a", g), [["Error: 2", 40, 2, 1_002, 1_118]]);
      assert.deepEqual(summary("b", f), [["Error: 3", 20, 2, 1_003, 1_117]]);
      assert.deepEqual(summary("b", g), [["Error: 1", 40, 2, 1_001, 1_119]]);
      const versions = await database.reads.selectFrom("crash_group_versions").selectAll().execute();
      assert.deepEqual(
        versions
          .filter((row) => row.application_id === "a" && row.fingerprint === f)
          .map(versionOf)
          .toSorted(),
        [["", 10, 1_000, 1_054], ["2", 10, 1_060, 1_114]], // biome-ignore format: a row each
      );
      const platforms = await database.reads.selectFrom("crash_group_platforms").selectAll().execute();
      assert.deepEqual(platforms.map(({ application_id, platform }) => `${application_id} ${platform}`).toSorted(), [
        "a test",
        "a test",
        "b test",
        "b test",
      ]);
      const left = database.reads.selectFrom("crash_reports").where("fingerprint", "not in", [f, g]).select("id");
      assert.equal((await left.execute()).length, 0);
    });
  });

  it("operators of an older release become owners without a password, and their tokens are revoked", async () => {
    const older = await createEmpty();
    const released = migrations.findIndex(({ name }) => name === "0013-operators");
    await withDatabase(older, async (database) => {
      await migrateTo(released, database);
      await database.write(async ({ queries }) => {
        await sql`insert into operators (id, name, created_at) values ('o', 'Ada', 1)`.execute(queries);
        await sql`insert into operator_tokens (digest, operator_id, created_at) values ('d', 'o', 1)`.execute(queries);
      });
      await migrate(database);
      const [ada, ...others] = await database.reads.selectFrom("operators").selectAll().execute();
      const isOwner = { role: "owner", password_hash: "", last_login_at: null, must_change_password: 0 };
      assert.deepEqual({ ...ada }, { id: "o", name: "Ada", created_at: 1, ...isOwner });
      assert.deepEqual(
        [...others, ...(await database.reads.selectFrom("operator_sessions").selectAll().execute())],
        [],
      );
    });
  });

  it("a second run changes nothing", async () => {
    const url = await createEmpty();
    await withDatabase(url, async (database) => {
      let seeds = 0;
      const seed = async () => {
        seeds += 1;
      };
      assert.deepEqual(
        await migrate(database, seed),
        migrations.map(({ name }) => name),
      );
      const row = { application_id: "a", name: "a", token_version: 0, created_at: 0, deleted_at: null };
      await database.write(({ queries }) => queries.insertInto("applications").values(row).execute());
      const schema = await readSchema(url);
      assert.deepEqual(await migrate(database, seed), []);
      assert.equal(seeds, 1);
      assert.deepEqual(await readSchema(url), schema);
      assert.equal((await database.reads.selectFrom("applications").selectAll().execute()).length, 1);
    });
  });

  it("an error in the seed rolls back the migration", async () => {
    const url = await createEmpty();
    await withDatabase(url, async (database) => {
      const failure = new Error("on purpose");
      await assert.rejects(
        migrate(database, () => Promise.reject(failure)),
        failure,
      );
      assert.deepEqual(await readSchema(url), []);
      assert.equal((await migrate(database)).length, migrations.length);
    });
  });

  it("runs in one of several processes that start at once on an empty database, and all succeed (hostile.md 36)", async () => {
    for (let round = 0; round < 3; round += 1) {
      const url = await createEmpty();
      const results = await Promise.all(Array.from({ length: 3 }, () => runMigrate(url)));
      for (const { code, stderr } of results) assert.deepEqual([code, stderr], [0, ""]);
      const outputs = results.map(({ stdout }) => stdout).toSorted();
      const applied = migrations.map(({ name }) => `applied ${name}\n`).join("");
      const upToDate = "The schema is up to date.\n";
      assert.deepEqual(outputs, [applied, upToDate, upToDate].toSorted());
    }
  });

  it("runs in one of two connection pools of one process on an empty database", async () => {
    const url = await createEmpty();
    const applied = await Promise.all([1, 2, 3].map(() => withDatabase(url, migrate)));
    assert.deepEqual(applied.map(({ length }) => length).toSorted(), [0, 0, migrations.length]);
  });

  it("a failed migration exits with a non-zero code, prints the reason, and leaves nothing behind", async () => {
    const url = await createEmpty();
    await withDatabase(url, (database) =>
      database.write(({ queries }) => sql`create table checkins (in_the_way integer)`.execute(queries)),
    );
    const before = await readSchema(url);
    const { code, stdout, stderr } = await runMigrate(url);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /checkins/);
    assert.deepEqual(await readSchema(url), before);
  });
});
