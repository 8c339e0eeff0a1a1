import { hash } from "node:crypto";
import { earliestMs } from "../lib/dates.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** What events are rolled up by: the hour and the day, in UTC. */
export type Granularity = "hour" | "day";

export const bucketMs: Readonly<Record<Granularity, number>> = { hour: hourMs, day: dayMs };

const letters: Readonly<Record<Granularity, string>> = { hour: "h", day: "d" };
const digestCharacters = 16; // 96 bits
const timeDigits = 10; // base 36 milliseconds since the year 1: all dates there are

/** What the ids of everything that is kept of one key begin with. A digest, because a key may have a kilobyte. */
export function seriesOf(key: string): string {
  return digest(key);
}

function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, digestCharacters);
}

/** A time as texts sort. */
function sortable(at: number): string {
  return (at - earliestMs).toString(36).padStart(timeDigits, "0");
}

/** The start of the bucket that a time falls into. */
export function startOf(granularity: Granularity, at: number): number {
  return Math.floor(at / bucketMs[granularity]) * bucketMs[granularity];
}

/**
 * Roll-ups of one series and dimension are sorted by time.
 *
 * @param dimension as in `metric_rollups.dimension`
 */
export function rollupId(series: string, granularity: Granularity, start: number, dimension: string): string {
  return series + letters[granularity] + digest(dimension) + sortable(start);
}

/** The start of the bucket of a roll-up. */
export function startOfRollup(id: string): number {
  const from = 2 * digestCharacters + 1;
  return Number.parseInt(id.slice(from, from + timeDigits), 36) + earliestMs;
}

/** What the id of a chunk begins with: chunks of a series are sorted by their latest event. */
export function chunkPrefix(series: string, latestAt: number): string {
  return series + sortable(latestAt);
}

/** When the latest event of a chunk happened. */
export function latestOfChunk(id: string): number {
  return Number.parseInt(id.slice(digestCharacters, digestCharacters + timeDigits), 36) + earliestMs;
}

/** What the chunks of one hour have in common. */
export function hourOfChunk(id: string): string {
  return id.slice(0, digestCharacters) + startOf("hour", latestOfChunk(id));
}

/** Where the events of an hour stand in the order in which a batch is written. */
export function eventsPosition(series: string, hour: number): string {
  return `${series}c${sortable(hour)}`;
}

/** Where a key stands in that order: behind all that it has. */
export function keyPosition(series: string): string {
  return `${series}k`;
}

/** What the ids of the chunks lie between of which every event happened before this time. */
export function chunksBefore(series: string, at: number): { from: string; to: string } {
  return { from: series, to: series + sortable(at) };
}

/** What the ids of all roll-ups of a series lie between: only days and hours have any. */
export function rollupsOf(series: string): { from: string; to: string } {
  return { from: `${series}d`, to: `${series}i` };
}

/** What the ids of those roll-ups lie between that are of one dimension with this one, and of buckets that ended in time. */
export function rollupsBefore(id: string, at: number): { from: string; to: string; next: string } {
  const from = id.slice(0, 2 * digestCharacters + 1);
  const length = id[digestCharacters] === letters.day ? dayMs : hourMs;
  return { from, to: from + sortable(Math.max(at - length + 1, earliestMs)), next: `${from}~` };
}
