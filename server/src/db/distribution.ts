import { sql } from "kysely";
import type { Database, Queries } from "./database.ts";
import { deploymentTables, tablesInErasureOrder } from "./table-catalogue.ts";

/** The placement of a table's rows in Citus: on every node, or with their application. */
type Place = "every node" | "by application";

/** All tables, referenced tables first. Tables of the deployment are small and read in every transaction. */
const places: ReadonlyMap<string, Place> = new Map([
  ...["schema_migrations", ...deploymentTables.toReversed()].map((table) => [table, "every node"] as const),
  ...["applications", ...tablesInErasureOrder.toReversed()].map((table) => [table, "by application"] as const),
]);

/** Whether this is PostgreSQL with the extension citus. */
export async function hasCitus({ dialect, reads }: Database): Promise<boolean> {
  if (!dialect.hasRowLocks) return false;
  const { rows } = await sql`select 1 from pg_extension where extname = 'citus'`.execute(reads);
  return rows.length > 0;
}

/** Lists the tables that lie on the coordinator only, in the order in which they can be distributed. */
export async function listUndistributed(queries: Queries): Promise<string[]> {
  // Citus may list a table ("n") that lies on the coordinator nevertheless: one that is not replicated ("t").
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
      and oid not in (select logicalrelid from pg_dist_partition where partmethod = 'h' or repmodel = 't')
  `.execute(queries);
  const onCoordinator = new Set(rows.map(({ name }) => name));
  return [...places.keys()].filter((table) => onCoordinator.has(table));
}

/**
 * Distributes the tables that are not distributed yet, each in a separate transaction. Can be interrupted and repeated,
 * and several processes may do it concurrently.
 *
 * @returns the names of the tables that it distributed
 */
export async function distributeTables(
  database: Database,
  onTable: (table: string, done: number, total: number) => void = () => {},
): Promise<string[]> {
  const missing = await listUndistributed(database.reads);
  const distributed: string[] = [];
  for (const [done, table] of missing.entries()) {
    onTable(table, done, missing.length);
    const isDone = await database.write(async ({ queries }) => {
      for (const statement of database.dialect.lockMigrations) await statement.execute(queries);
      if (!(await listUndistributed(queries)).includes(table)) return false; // by another process
      await distribute(table, queries);
      return true;
    });
    if (isDone) distributed.push(table);
  }
  return distributed;
}

/** Distributes the tables that a migration has added to a distributed database. */
export async function distributeNewTables(database: Database): Promise<void> {
  if (!(await hasCitus(database))) return;
  const missing = await listUndistributed(database.reads);
  if (missing.length > 0 && !missing.includes("applications")) await distributeTables(database);
}

async function distribute(table: string, queries: Queries): Promise<void> {
  if (places.get(table) === "every node") {
    await sql`select create_reference_table(${table})`.execute(queries);
  } else if (table === "applications") {
    await sql`select create_distributed_table(${table}, 'application_id')`.execute(queries);
  } else {
    await sql`select create_distributed_table(${table}, 'application_id', colocate_with => 'applications')`.execute(
      queries,
    );
  }
}
