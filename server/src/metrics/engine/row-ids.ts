import { hash } from "node:crypto";
import { earliestMs } from "../../lib/dates.ts";
import { spans, startOf } from "../../lib/spans.ts";

/** The bucket sizes of roll-ups: the hour and the day, in UTC. */
export type Granularity = "hour" | "day";

const letters: Readonly<Record<Granularity, string>> = { hour: "h", day: "d" };
const digestCharacters = 16; // 96 bits
const timeDigits = 10; // base 36 milliseconds since the year 1, enough for all dates

/** Returns the id prefix of all rows of one key: a digest, because a key may be a kilobyte long. */
export function seriesOf(key: string): string {
  return digest(key);
}

function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, digestCharacters);
}

/** Formats a time so that it sorts as a string. */
function sortable(at: number): string {
  return (at - earliestMs).toString(36).padStart(timeDigits, "0");
}

/**
 * Returns the id of a roll-up; the roll-ups of one series and dimension sort by time.
 *
 * @param dimension as in `metric_rollups.dimension`
 */
export function rollupId(series: string, granularity: Granularity, start: number, dimension: string): string {
  return series + letters[granularity] + digest(dimension) + sortable(start);
}

const rollupPattern = new RegExp(
  `^[\\w-]{${digestCharacters}}[${Object.values(letters).join("")}][\\w-]{${digestCharacters}}[0-9a-z]{${timeDigits}}$`,
);

/** Whether an id has the format of {@link rollupId}, by which retention steps through the roll-ups. */
export function isRollupId(id: string): boolean {
  return rollupPattern.test(id);
}

/** Returns the part of the id of a roll-up of all events after its series. */
export function rollupSuffix(granularity: Granularity, start: number): string {
  return rollupId("", granularity, start, "");
}

/** Returns the series of a roll-up. */
export function seriesOfRollup(id: string): string {
  return id.slice(0, digestCharacters);
}

/** Returns the start of the bucket of a roll-up. */
export function startOfRollup(id: string): number {
  const from = 2 * digestCharacters + 1;
  return Number.parseInt(id.slice(from, from + timeDigits), 36) + earliestMs;
}

/** Returns the id prefix of a chunk: the chunks of a series sort by their latest event. */
export function chunkPrefix(series: string, latestAt: number): string {
  return series + sortable(latestAt);
}

/** Returns the time of the latest event of a chunk. */
export function latestOfChunk(id: string): number {
  return Number.parseInt(id.slice(digestCharacters, digestCharacters + timeDigits), 36) + earliestMs;
}

/** Returns the id prefix that the chunks of one hour share. */
export function hourOfChunk(id: string): string {
  return id.slice(0, digestCharacters) + startOf("hour", latestOfChunk(id));
}

/** Returns the position of an hour's events in the order in which a batch is written. */
export function eventsPosition(series: string, hour: number): string {
  return `${series}c${sortable(hour)}`;
}

/** Returns the position of a key in that order: after all its events. */
export function keyPosition(series: string): string {
  return `${series}k`;
}

/** Returns the id range of the chunks whose events all happened before this time. */
export function chunksBefore(series: string, at: number): { from: string; to: string } {
  return { from: series, to: series + sortable(at) };
}

/** Returns the id range of all chunks of a series. */
export function chunksOfSeries(series: string): { from: string; to: string } {
  return { from: series, to: `${series}~` };
}

/** Returns the id range of all roll-ups of a series, of hours and days. */
export function rollupsOf(series: string): { from: string; to: string } {
  return { from: `${series}d`, to: `${series}i` };
}

/** Returns the id range of the roll-ups with the dimension of `id` whose buckets end by a time. */
export function rollupsBefore(id: string, at: number): { from: string; to: string; next: string } {
  const from = id.slice(0, 2 * digestCharacters + 1);
  const length = spans[id[digestCharacters] === letters.day ? "day" : "hour"];
  return { from, to: from + sortable(Math.max(at - length + 1, earliestMs)), next: `${from}~` };
}
