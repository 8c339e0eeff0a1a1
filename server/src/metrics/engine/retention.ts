import type { Database, Queries } from "../../db/database.ts";
import { firstIdAt } from "../../lib/ids.ts";
import {
  deleteChunks,
  deleteHandles,
  deleteKey,
  deleteRollups,
  findFirstRollup,
  listOldKeys,
  updateEarliest,
} from "./retention.store.ts";
import { chunksBefore, rollupsBefore, rollupsOf, seriesOf, startOf } from "./series.ts";

const keysAtOnce = 100;
const handlesPerStep = 500;
/** Few per step, because chunks may be large. */
const rowsPerStep = 50;

/**
 * Deletes what happened before a time, to the hour, and the handles of events that were received before it. Works in
 * bounded steps, so that it can be stopped at any moment and resumed.
 */
export async function deleteOldMetrics(
  applicationId: string,
  before: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  async function repeat(step: (queries: Queries) => Promise<number>): Promise<void> {
    let rows: number;
    do {
      signal?.throwIfAborted();
      rows = await database.write(({ queries }) => step(queries));
    } while (rows > 0);
  }

  const handle = firstIdAt("MetricEvent", before);
  await repeat((queries) => deleteHandles(applicationId, handle, handlesPerStep, queries));

  const earliest = startOf("hour", before);
  for (;;) {
    const keys = await listOldKeys(applicationId, earliest, keysAtOnce, database.reads);
    if (keys.length === 0) return;
    for (const key of keys) {
      const seriesId = seriesOf(key);
      const chunks = chunksBefore(seriesId, before);
      await repeat((queries) => deleteChunks(applicationId, key, chunks, rowsPerStep, queries));

      let left = rollupsOf(seriesId);
      let rollupsLeft = 0;
      for (;;) {
        const first = await findFirstRollup(applicationId, left, database.reads);
        if (first === undefined) break;
        const { from, to, next } = rollupsBefore(first, before);
        await repeat((queries) => deleteRollups(applicationId, key, { from, to }, rowsPerStep, queries));
        if ((await findFirstRollup(applicationId, { from, to: next }, database.reads)) !== undefined) rollupsLeft += 1;
        left = { ...left, from: next };
      }
      await database.write(async ({ queries }) => {
        await updateEarliest(applicationId, key, earliest, queries);
        if (rollupsLeft === 0) await deleteKey(applicationId, key, queries);
      });
    }
  }
}
