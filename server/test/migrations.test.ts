import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import postgres from "postgres";
import type { Database } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { baseline } from "../src/db/migrations/0001-baseline/baseline.ts";
import { migrations } from "../src/db/migrations/list.ts";
import { openDatabase } from "../src/db/open.ts";
import { deploymentTables, tableCatalogue, tablesInErasureOrder } from "../src/db/table-catalogue.ts";
import { loadEarlierDeployment } from "./before-baseline.ts";
import { createTestDatabase } from "./databases.ts";
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

/** Returns the URL of a database that does not exist yet, or is empty. */
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

function runMigrate(url: string) {
  return runProgram("src/cli/cli.ts", ["migrate"], { DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests" });
}

interface Table {
  readonly name: string;
  /** Name, type and nullability. */
  readonly columns: readonly string[];
  readonly indexes: readonly { readonly kind: "primary" | "unique" | "plain"; readonly columns: readonly string[] }[];
  readonly foreignKeys: readonly { columns: readonly string[]; parent: string; parentColumns: readonly string[] }[];
}

/** Reads the schema from the engine's catalogue. */
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

/**
 * Reads every definition with all details: types, defaults, collations, conditions, expressions, the order of columns,
 * and the order in which the indexes of a table were created.
 */
async function readExactSchema(url: string): Promise<string[]> {
  const definitions = await withDatabase(url, async ({ reads }) => {
    const text = url.startsWith("file:")
      ? sql<{ text: string }>`
          select sql as text from sqlite_schema where sql is not null
          union all
          select concat_ws(' ', tbl_name, type, row_number() over (partition by tbl_name, type order by rowid), name)
          from sqlite_schema where sql is not null`
      : sql<{ text: string }>`
          select concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstorage,
            attcompression, collname, pg_get_expr(adbin, adrelid)) as text
          from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_collation on pg_collation.oid = attcollation
          left join pg_attrdef on adrelid = attrelid and adnum = attnum
          where relkind = 'r' and relnamespace = current_schema()::regnamespace and attnum > 0 and not attisdropped
          union all select concat_ws(' ', relname, relkind, relpersistence, relrowsecurity, reloptions) from pg_class
          where relnamespace = current_schema()::regnamespace
          union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
          where connamespace = current_schema()::regnamespace
          union all select concat_ws(' ', row_number() over (partition by indrelid order by indexrelid), pg_get_indexdef(indexrelid))
          from pg_index join pg_class on pg_class.oid = indexrelid where relnamespace = current_schema()::regnamespace
          union all select to_jsonb(s)::text from (
            select sequencename, data_type, start_value, increment_by, max_value, cycle, cache_size from pg_sequences
          ) as s
          union all select proname from pg_proc where pronamespace = current_schema()::regnamespace
          union all select tgname from pg_trigger where not tgisinternal`;
    return (await text.execute(reads)).rows;
  });
  return definitions.map((row) => inOneForm(row.text)).toSorted();
}

/** Normalizes the text of a table: SQLite stores it, and adds a column with its own position and white space. */
function inOneForm(text: string): string {
  const plain = text.trim().replaceAll('"', "").replaceAll(/\s+/g, " ").replaceAll("( ", "(").replaceAll(" )", ")");
  const [, head, definitions = "", options] = /^(create table \S+) \((.*)\)([^)]*)$/i.exec(plain) ?? [];
  if (head === undefined) return plain;
  const listed = definitions.split(/,(?![^(]*\))/).map((each) => each.trim());
  const [columns, constraints] = [false, true].map((isConstraint) =>
    listed.filter((each) => /^(primary|foreign|unique|check|constraint)\b/i.test(each) === isConstraint),
  );
  return JSON.stringify([head, columns, constraints, options]).toLowerCase();
}

async function readRefusals(url: string): Promise<string[]> {
  const names = sql<{ name: string }>`select name from schema_migrations where refuses_older = 1 order by name`;
  return withDatabase(url, async ({ reads }) => (await names.execute(reads)).rows.map(({ name }) => name));
}

function readSqliteSchema(url: string): Table[] {
  const database = new DatabaseSync(fileURLToPath(url), { readOnly: true });
  // The columns of these pragmas.
  const all = (text: string, ...values: string[]) => database.prepare(text).all(...values) as Record<string, string>[];
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

/** On PostgreSQL, the erasure of an application finds its events without a foreign key. */
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
  it("the baseline creates exactly the schema of the migrations that it replaced, and records only its own name", async () => {
    const [fresh, earlier] = [await createEmpty(), await createEmpty()];
    await withDatabase(fresh, async (database) => {
      await migrate(database, undefined, { list: [baseline] });
      for (const { name } of await readSchema(fresh)) {
        const { rows } = await sql`select * from ${sql.table(name)}`.execute(database.reads);
        assert.equal(rows.length, name === "schema_migrations" ? 1 : 0, name);
      }
    });
    await loadEarlierDeployment(earlier);
    const exact = await readExactSchema(fresh);
    assert.ok(exact.length > 200);
    assert.deepEqual(exact, await readExactSchema(earlier));
    assert.deepEqual(await readRefusals(fresh), [baseline.name]);
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

  it("accepts the column and the indexes of check-ins that an operator has added in advance", async (t) => {
    const [url, usual] = [await createEmpty(), await createEmpty()];
    if (url.startsWith("file:")) return t.skip("SQLite builds no index beside writes");
    const page = readFileSync(new URL("../../docs/run/upgrades.md", import.meta.url), "utf8");
    const statements = /```sql\n(.*?)```/s.exec(page)?.[1]?.split(";").slice(0, -1) ?? [];
    assert.equal(statements.length, 3);
    const at = migrations.findIndex(({ name }) => name === "0063-checkins-occurred");
    await withDatabase(url, (database) => migrate(database, undefined, { list: migrations.slice(0, at) }));
    const client = postgres(url, { max: 1 });
    for (const statement of statements) await client.unsafe(statement);
    await client.end();
    await withDatabase(url, migrate);
    await withDatabase(usual, migrate);
    assert.deepEqual(await readSchema(url), await readSchema(usual));
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

  it("runs in one of several processes that start concurrently on an empty database, and all succeed (hostile.md 36)", async () => {
    for (let round = 0; round < 3; round += 1) {
      const url = await createEmpty();
      const results = await Promise.all(Array.from({ length: 3 }, () => runMigrate(url)));
      for (const { code, stderr } of results) assert.deepEqual([code, stderr], [0, ""]);
      const outputs = results.map(({ stdout }) => stdout.replace(/ in [\d.]+ s\n$/, "\n")).toSorted();
      const applied = migrations.map(({ name }) => `applied ${name}\n`).join("");
      const summary = `migrated from an empty database to ${migrations.at(-1)?.name}\n`;
      const upToDate = "The schema is up to date.\n";
      assert.deepEqual(outputs, [applied + summary, upToDate, upToDate].toSorted());
    }
  });

  it("runs in one of two connection pools of one process on an empty database", async () => {
    const url = await createEmpty();
    const applied = await Promise.all([1, 2, 3].map(() => withDatabase(url, migrate)));
    assert.deepEqual(applied.map(({ length }) => length).toSorted(), [0, 0, migrations.length]);
  });

  it("a failed migration exits with a non-zero code, prints the reason, and rolls back all changes", async () => {
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
