import { sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare } from "../../db/prepared.ts";

/** Returns the UTF-8 length of a chunk minus 1, so that merging chunks does not change the total. */
export function bytesOfChunk(payload: string): number {
  return Buffer.byteLength(payload) - 1;
}

/** The same as an SQL expression. */
export const chunkBytes = sql<number>`octet_length(payload) - 1`;

export const rollupBytes = sql<number>`octet_length(data)`;

const addPrepared = prepare<{ applicationId: string; key: string; bytes: number }, never>((queries, parameter) =>
  queries
    .updateTable("metric_keys")
    .set({
      stored_bytes: sql`case when stored_bytes + cast(${parameter("bytes")} as bigint) < 0 then 0
        else stored_bytes + cast(${parameter("bytes")} as bigint) end`,
    })
    .where("application_id", "=", parameter("applicationId"))
    .where("key", "=", parameter("key")),
);

/** Adds to the bytes of a measured key; may be negative. Ignores unmeasured keys. */
export async function addStoredBytes(
  applicationId: string,
  key: string,
  bytes: number,
  queries: Queries,
): Promise<void> {
  if (bytes !== 0) await addPrepared(queries, { applicationId, key, bytes });
}

const sumPrepared = prepare<{ applicationId: string }, { bytes: number | null }>((queries, parameter) =>
  queries
    .selectFrom("metric_keys")
    .select(sql<number | null>`sum(stored_bytes)`.as("bytes"))
    .where("application_id", "=", parameter("applicationId")),
);

/** Sums the bytes of an application's measured keys. */
export async function sumStoredBytes(applicationId: string, queries: Queries): Promise<number> {
  const [row] = await sumPrepared(queries, { applicationId });
  return Number(row?.bytes ?? 0);
}

/** Lists keys that have not been measured. */
export async function listUnmeasuredKeys(applicationId: string, count: number, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("metric_keys")
    .select("key")
    .where("application_id", "=", applicationId)
    .where("stored_bytes", "is", null)
    .limit(count)
    .execute();
  return rows.map(({ key }) => key);
}

/** Lists the sizes of some rows in a range of ids, in order. */
export async function listSizes(
  applicationId: string,
  table: "metric_chunks" | "metric_rollups",
  { from, to }: { readonly from: string; readonly to: string },
  count: number,
  queries: Queries,
): Promise<{ readonly id: string; readonly bytes: number }[]> {
  const rows = await queries
    .selectFrom(table)
    .select(["id", (table === "metric_chunks" ? chunkBytes : rollupBytes).as("bytes")])
    .where("application_id", "=", applicationId)
    .where("id", ">", from)
    .where("id", "<", to)
    .orderBy("id")
    .limit(count)
    .execute();
  return rows.map(({ id, bytes }) => ({ id, bytes: Number(bytes) }));
}

/** Records the size of an unmeasured key. */
export async function updateMeasuredKey(
  applicationId: string,
  key: string,
  bytes: number,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("metric_keys")
    .set({ stored_bytes: bytes })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("stored_bytes", "is", null)
    .execute();
}
