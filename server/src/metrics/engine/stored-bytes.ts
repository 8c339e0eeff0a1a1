import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import { ApiError } from "../../lib/errors.ts";
import { createRecounts } from "../../lib/recounts.ts";
import { chunksOfSeries, rollupsOf, seriesOf } from "./series.ts";
import { listSizes, listUnmeasuredKeys, sumStoredBytes, updateMeasuredKey } from "./stored-bytes.store.ts";

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
