import type { Database } from "../db/database.ts";

const tables = ["limit_buckets", "deployment_limit_buckets", "guess_counts", "deployment_guess_counts"] as const;
const rowsPerStep = 1_000;

/**
 * Deletes buckets that are full, failures that are forgotten, and nonces of calls that can no longer be replayed, a bounded
 * number in each transaction.
 */
export async function deleteExpiredCounters(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (const table of tables) {
    await inSteps(() => deleteCounters(table, now, database), signal);
  }
  await inSteps(() => deleteNonces(now, database), signal);
}

async function inSteps(deleteSome: () => Promise<number>, signal?: AbortSignal): Promise<void> {
  do signal?.throwIfAborted();
  while ((await deleteSome()) === rowsPerStep);
}

function deleteCounters(table: (typeof tables)[number], now: number, { write }: Database): Promise<number> {
  return write(async ({ queries }) => {
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
  });
}

function deleteNonces(now: number, { write }: Database): Promise<number> {
  return write(async ({ queries }) => {
    const expired = await queries
      .selectFrom("region_nonces")
      .select("nonce")
      .where("ends_at", "<", now)
      .limit(rowsPerStep)
      .execute();
    const nonces = expired.map(({ nonce }) => nonce);
    if (nonces.length > 0) await queries.deleteFrom("region_nonces").where("nonce", "in", nonces).execute();
    return nonces.length;
  });
}
