import { setTimeout as sleep, setImmediate as untilNextTick } from "node:timers/promises";
import { sql } from "kysely";
import type { Database } from "./database.ts";
import { migrate } from "./migrate.ts";

/** A distant database answers while the start goes on. */
const answerMsMax = 100;
/** The driver sends the script some ticks of the event loop after it has been called. */
const sendingTicks = 10;

/**
 * Whether a PostgreSQL has no schema yet. False if that is not known in time, or if the database cannot be used: the migration
 * will report why.
 */
export async function isEmpty(database: Database): Promise<boolean> {
  const asked = sql<{ is_empty: boolean }>`select to_regclass('schema_migrations') is null as is_empty`
    .execute(database.reads)
    .then(({ rows }) => rows[0]?.is_empty === true)
    .catch(() => false);
  return Promise.race([asked, sleep(answerMsMax, false, { ref: false })]);
}

/**
 * Begins to create the schema of an empty PostgreSQL. Resolves once its server works on it, which takes it a quarter of a
 * second.
 *
 * @returns a promise of the names of the applied migrations, which rejects as `migrate` does
 */
export async function beginSchema(database: Database): Promise<{ readonly created: Promise<readonly string[]> }> {
  const begun = Promise.withResolvers<void>();
  const created = migrate(database, undefined, { onMigration: () => begun.resolve() });
  const ended = created.catch(() => {}); // thrown where `created` is awaited
  // Another process that creates the schema may have the lock.
  await Promise.race([begun.promise, ended, sleep(answerMsMax, undefined, { ref: false })]);
  for (let tick = 0; tick < sendingTicks; tick += 1) await untilNextTick();
  return { created };
}
