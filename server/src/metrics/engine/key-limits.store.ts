import { sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare, prepareShapes } from "../../db/prepared.ts";

const runShape = prepareShapes();
const keyCounts = [1, 8, 64, 512];

/** Returns the keys that the application already has, with one statement per few hundred. */
export async function listKnownKeys(
  applicationId: string,
  keys: readonly string[],
  queries: Queries,
): Promise<Set<string>> {
  const known = new Set<string>();
  for (let from = 0; from < keys.length; ) {
    const some = keys.slice(from, from + (keyCounts.at(-1) ?? 1));
    from += some.length;
    const size = keyCounts.find((each) => each >= some.length) ?? some.length;
    const values: Record<string, string> = { applicationId };
    // Pads with a repeated key.
    for (let index = 0; index < size; index += 1) values[`${index}`] = some[index] ?? some[0] ?? "";
    const rows = await runShape<{ key: string }>(queries, `known ${size}`, values, (parameter) =>
      queries
        .selectFrom("metric_keys")
        .select("key")
        .where("application_id", "=", parameter("applicationId"))
        .where(
          "key",
          "in",
          Array.from({ length: size }, (_, index) => parameter(`${index}`)),
        ),
    );
    for (const { key } of rows) known.add(key);
  }
  return known;
}

const countPrepared = prepare<{ applicationId: string }, { count: number }>((queries, parameter) =>
  queries
    .selectFrom("metric_keys")
    .select(sql<number>`count(*)`.as("count"))
    .where("application_id", "=", parameter("applicationId")),
);

export async function countKeys(applicationId: string, queries: Queries): Promise<number> {
  const [row] = await countPrepared(queries, { applicationId });
  return Number(row?.count ?? 0);
}

const insertPrepared = prepare<{ applicationId: string; key: string; now: number }, never>((queries, parameter) =>
  queries
    .insertInto("metric_keys")
    .values({
      application_id: parameter("applicationId"),
      key: parameter("key"),
      event_count: sql.lit(0),
      earliest_at: parameter("now"),
      last_received_at: parameter("now"),
      stored_bytes: sql.lit(0),
    })
    .onConflict((conflict) => conflict.columns(["application_id", "key"]).doNothing()),
);

/** Adds a key that has no compacted events yet. */
export async function insertKey(applicationId: string, key: string, now: number, queries: Queries): Promise<void> {
  await insertPrepared(queries, { applicationId, key, now });
}
