import type { Database, Queries } from "../db/database.ts";
import { inSteps, rowsPerStep } from "../db/steps.ts";

const tables = ["limit_buckets", "deployment_limit_buckets", "guess_counts", "deployment_guess_counts"] as const;

/**
 * Deletes buckets that are full, failures that are forgotten, and nonces of calls that can no longer be replayed, a bounded
 * number in each transaction.
 */
export async function deleteExpiredCounters(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (const table of tables) {
    await inSteps(database, signal, (queries) => deleteCounters(table, now, queries));
  }
  await inSteps(database, signal, (queries) => deleteNonces(now, queries));
}

async function deleteCounters(table: (typeof tables)[number], now: number, queries: Queries): Promise<number> {
  const expired = await queries
    .selectFrom(table)
    .select(["application_id", "key"])
    .where("ends_at", "<", now)
    .limit(rowsPerStep)
    .execute();
  for (const { application_id, key } of expired) {
    await queries
      .deleteFrom(table)
      .where("application_id", "=", application_id)
      .where("key", "=", key)
      .where("ends_at", "<", now)
      .execute();
  }
  return expired.length;
}

async function deleteNonces(now: number, queries: Queries): Promise<number> {
  const expired = await queries
    .selectFrom("region_nonces")
    .select("nonce")
    .where("ends_at", "<", now)
    .limit(rowsPerStep)
    .execute();
  const nonces = expired.map(({ nonce }) => nonce);
  if (nonces.length > 0) await queries.deleteFrom("region_nonces").where("nonce", "in", nonces).execute();
  return nonces.length;
}
