import type { Queries } from "../../db/database.ts";
import { readCount } from "./rollups.ts";
import { dayMs, rollupSuffix, seriesOf, seriesOfRollup, startOf, startOfRollup } from "./series.ts";
import { readRollupCounts } from "./snapshot.store.ts";
import { readWaiting } from "./waiting.ts";

/**
 * Counts the events of several keys on each of the last days, in UTC, from roll-ups and the inbox alone.
 *
 * @returns by key, from the earliest day to today
 */
export async function readDailyCounts(
  applicationId: string,
  keys: readonly string[],
  { days, now }: { readonly days: number; readonly now: number },
  queries: Queries,
): Promise<ReadonlyMap<string, number[]>> {
  if (keys.length === 0) return new Map();
  const first = startOf("day", now) - (days - 1) * dayMs;
  const range = { from: rollupSuffix("day", first), to: rollupSuffix("day", first + days * dayMs), count: days };
  const bySeries = new Map(keys.map((key) => [seriesOf(key), key]));
  const { rollups, waiting } = await readRollupCounts(applicationId, [...bySeries.keys()], range, queries);
  const counts = new Map(keys.map((key) => [key, Array<number>(days).fill(0)]));
  function add(key: string, start: number, count: number): void {
    const ofKey = counts.get(key);
    const day = (start - first) / dayMs;
    if (ofKey?.[day] !== undefined) ofKey[day] += count;
  }
  for (const { id, data } of rollups) add(bySeries.get(seriesOfRollup(id)) ?? "", startOfRollup(id), readCount(data));
  for (const [key, starts] of await readWaiting(waiting).counts(keys, "day"))
    for (const [start, count] of starts) add(key, start, count);
  return counts;
}
