import { sql } from "kysely";
import type { Database } from "../db/database.ts";
import { deleteEnded } from "../db/ended-rows.ts";

const tables = [
  "limit_buckets",
  "deployment_limit_buckets",
  "guess_counts",
  "deployment_guess_counts",
  "region_nonces",
] as const;

/** Deletes buckets that are full, failures that are forgotten, and nonces of calls that can no longer be replayed. */
export async function deleteExpiredCounters(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (const table of tables) await deleteEnded(table, sql`"ends_at" < ${now}`, database, signal);
}
