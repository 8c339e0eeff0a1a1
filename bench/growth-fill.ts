import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import { cellOf } from "../server/src/lib/cells.ts";
import type { Deployment } from "./engine.ts";
import { formatMany } from "./report.ts";

/** The number of rows of a grown database. */
export interface GrownSizes {
  readonly applications: number;
  readonly users: number;
  readonly devices: number;
  readonly checkins: number;
}

const pointsCount = 100_000;
const rowsPerStatement = 100_000;
/** Fewer rows take seconds. */
const rowsPerReport = 1_000_000;

/**
 * Adds rows to the application of a fixture whose server is stopped: copies of existing rows, with other ids, times and
 * locations. Check-ins are spread over the users, every second one is shared, and three of ten are near one city.
 * Indexes are dropped before and built after, which takes a fraction of the time.
 */
export async function grow(
  { settings }: Deployment,
  applicationId: string,
  sizes: GrownSizes,
  report: (line: string) => void,
): Promise<void> {
  const database = settings["DATABASE_URL"] === undefined ? openSqlite(settings) : openPostgres(settings);
  try {
    await addPoints(database);
    for (const [table, count] of Object.entries(sizes)) {
      const columns = columnsOf(table as keyof GrownSizes, sizes); // Object.entries forgets the keys
      await addRows(database, table, columns, count, applicationId, report);
    }
    await database.run("drop table growth_points");
    await database.finish(Object.keys(sizes));
  } finally {
    await database.close();
  }
}

/** The differences of the engines for filling. */
interface Filler {
  readonly series: (from: number, to: number) => string;
  run(statement: string): Promise<void>;
  rows(query: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly indexesOf: (table: string) => string;
  readonly columnsOf: (table: string) => string;
  finish(tables: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** The columns that differ from those of the copied row, in terms of the number `n`. */
function columnsOf(table: keyof GrownSizes, { users, checkins }: GrownSizes): Readonly<Record<string, string>> {
  const created = `sample.created_at - (${checkins} - n) * 1000`;
  switch (table) {
    case "applications":
      return { application_id: idOf("app", "n"), name: "'Growth'" };
    case "users":
      return { id: idOf("usr", "n"), user_name: idOf("usr", "n"), user_name_key: idOf("usr", "n") };
    case "devices":
      return { id: idOf("dev", "n"), unique_id: idOf("dev", "n"), created_at: created, modified_at: created };
    case "checkins":
      return {
        id: idOf("chk", "n"),
        user_id: idOf("usr", `n % ${users}`),
        ...{ lat: "point.lat", lng: "point.lng", cell: "point.cell", seen_cell: "point.cell" },
        read_permission: "case when n % 2 = 0 then 1 end",
        created_at: created,
        modified_at: created,
      };
  }
}

/** An id that sorts before those of the server, by its number. */
function idOf(prefix: string, number: string): string {
  return `'${prefix}_' || substr(cast(100000000000000000 + ${number} as text), 2) || '000000000'`;
}

async function addPoints({ run }: Filler): Promise<void> {
  await run("create table growth_points (number integer primary key, lat float, lng float, cell bigint)");
  for (let from = 0; from < pointsCount; from += 1_000) {
    const points = Array.from({ length: 1_000 }, (_, index) => {
      const isInCity = index % 10 < 3;
      const lat = isInCity ? 48.2 + (Math.random() - 0.5) * 0.5 : 36 + Math.random() * 30;
      const lng = isInCity ? 16.4 + (Math.random() - 0.5) * 0.7 : -10 + Math.random() * 40;
      return `(${from + index}, ${lat}, ${lng}, ${cellOf({ lat, lng })})`;
    });
    await run(`insert into growth_points values ${points.join()}`);
  }
}

async function addRows(
  database: Filler,
  table: string,
  changed: Readonly<Record<string, string>>,
  count: number,
  applicationId: string,
  report: (line: string) => void,
): Promise<void> {
  const indexes = (await database.rows(database.indexesOf(table))).map(({ name, sql }) => ({ name, sql: String(sql) }));
  for (const { name } of indexes) await database.run(`drop index ${name}`);
  const names = (await database.rows(database.columnsOf(table))).map(({ name }) => String(name));
  const values = names.map((name) => changed[name] ?? `sample.${name}`);
  const sample = `(select * from ${table} where application_id = '${applicationId}' order by 1, 2 desc limit 1) as sample`;
  for (let from = 0; from < count; from += rowsPerStatement) {
    const series = database.series(from, Math.min(from + rowsPerStatement, count) - 1);
    await database.run(
      `insert into ${table} (${names.join()}) select ${values.join()} from ${series}
      cross join ${sample} join growth_points as point on point.number = series.n % ${pointsCount}`,
    );
    const stored = Math.min(from + rowsPerStatement, count);
    if (stored === count || stored % rowsPerReport === 0) report(`${formatMany(stored)} ${table} are stored`);
  }
  for (const [built, { sql, name }] of indexes.entries()) {
    await database.run(sql);
    if (count >= rowsPerReport) report(`${name} is built, ${built + 1} of ${indexes.length}`);
  }
}

function openSqlite(settings: Deployment["settings"]): Filler {
  const database = new DatabaseSync(path.join(settings["DATA_DIR"] ?? "", "rollcall.db"));
  database.exec("pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = off");
  database.exec("pragma cache_size = -1000000; pragma temp_store = file; pragma threads = 2");
  return {
    series: (from, to) =>
      `(with recursive numbers (n) as (values (${from}) union all select n + 1 from numbers where n < ${to})
      select n from numbers) as series`,
    run: async (statement) => database.exec(statement),
    rows: async (query) => database.prepare(query).all(),
    indexesOf: (table) =>
      `select name, sql from sqlite_master where type = 'index' and tbl_name = '${table}' and sql is not null`,
    columnsOf: (table) => `select name from pragma_table_info('${table}')`,
    finish: async () => database.exec("pragma journal_mode = wal"),
    close: async () => database.close(),
  };
}

function openPostgres(settings: Deployment["settings"]): Filler {
  const client = postgres(settings["DATABASE_URL"] ?? "", {
    max: 1,
    onnotice: () => {},
    // The role of a replica checks no foreign keys.
    connection: { session_replication_role: "replica", synchronous_commit: false, maintenance_work_mem: "512MB" },
  });
  const run = async (statement: string) => {
    await client.unsafe(statement);
  };
  return {
    series: (from, to) => `generate_series(${from}::bigint, ${to}) as series (n)`,
    run,
    rows: (query) => client.unsafe(query),
    indexesOf: (table) => `select indexname as name, indexdef as sql from pg_indexes
      where tablename = '${table}' and indexname not in (select conname from pg_constraint)`,
    columnsOf: (table) => `select column_name as name from information_schema.columns where table_name = '${table}'`,
    async finish(tables) {
      for (const table of tables) await run(`vacuum analyze ${table}`);
      await run("checkpoint");
    },
    close: () => client.end(),
  };
}
