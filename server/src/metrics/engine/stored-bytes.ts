import { sql } from "kysely";
import type { Config } from "../../config/config.ts";
import type { Database, Queries } from "../../db/database.ts";
import { prepare } from "../../db/prepared.ts";
import type { Clock } from "../../lib/clock.ts";
import { ApiError } from "../../lib/errors.ts";
import { createRecounts } from "../../lib/recounts.ts";
import { chunksOfSeries, rollupsOf, seriesOf } from "./row-ids.ts";

/** Limits the bytes that the metrics of an application occupy in the database (hostile.md 37). */
export interface MetricBytes {
  /** @throws ApiError RequestTooLarge when the application has no space for more events */
  require(applicationId: string): void;
  /** Adds bytes of events that this process has stored. */
  add(applicationId: string, bytes: number): void;
}

interface Figure {
  counted: number;
  /**
   * Bytes that this process stored since the last count started, and between that count and the one before. They may
   * not be compacted yet.
   */
  since: number;
  before: number;
}

/**
 * The bytes of an application are the sum over its keys, which compaction and retention maintain. The sum is cached and
 * recomputed periodically, so that events do not contend for a shared counter.
 */
export function createMetricBytes(
  { metricBytesPerApplication: bytesMax }: Pick<Config, "metricBytesPerApplication">,
  { database, clock }: { readonly database: Database; readonly clock: Clock },
): MetricBytes {
  const figures = createRecounts<Figure>({
    clock,
    create: () => ({ counted: 0, since: 0, before: 0 }),
    async recount(applicationId, figure) {
      const [since, before] = [figure.since, figure.before];
      figure.before = since;
      figure.since = 0;
      try {
        figure.counted = await sumStoredBytes(applicationId, database.reads);
      } catch (error) {
        figure.before += before; // no count includes them
        throw error;
      }
    },
  });

  return {
    require(applicationId) {
      const { counted, since, before } = figures.find(applicationId);
      if (counted + since + before < bytesMax) return;
      const rule = `The metrics of an application take at most ${bytesMax} bytes (METRIC_BYTES_PER_APPLICATION).`;
      throw new ApiError("RequestTooLarge", `${rule} None of the events was stored.`);
    },
    add(applicationId, bytes) {
      figures.find(applicationId).since += bytes;
    },
  };
}

const keysPerRound = 50;
const rowsPerStep = 500;

/** Measures keys from an earlier release or its archive, a few per round. */
export async function measureKeys(applicationId: string, database: Database, signal?: AbortSignal): Promise<void> {
  for (const key of await listUnmeasuredKeys(applicationId, keysPerRound, database.reads)) {
    const series = seriesOf(key);
    let bytes = 0;
    for (const [table, range] of [
      ["metric_chunks", chunksOfSeries(series)],
      ["metric_rollups", rollupsOf(series)],
    ] as const) {
      for (let { from } = range; ; ) {
        signal?.throwIfAborted();
        const rows = await listSizes(applicationId, table, { from, to: range.to }, rowsPerStep, database.reads);
        for (const row of rows) bytes += row.bytes;
        const last = rows.at(-1);
        if (last === undefined || rows.length < rowsPerStep) break;
        from = last.id;
      }
    }
    await database.write(({ queries }) => updateMeasuredKey(applicationId, key, bytes, queries));
  }
}

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
async function sumStoredBytes(applicationId: string, queries: Queries): Promise<number> {
  const [row] = await sumPrepared(queries, { applicationId });
  return Number(row?.bytes ?? 0);
}

/** Lists keys that have not been measured. */
async function listUnmeasuredKeys(applicationId: string, count: number, queries: Queries): Promise<string[]> {
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
async function listSizes(
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
async function updateMeasuredKey(applicationId: string, key: string, bytes: number, queries: Queries): Promise<void> {
  await queries
    .updateTable("metric_keys")
    .set({ stored_bytes: bytes })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("stored_bytes", "is", null)
    .execute();
}
