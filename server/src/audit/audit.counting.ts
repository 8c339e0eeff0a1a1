import type { Database, Queries } from "../db/database.ts";
import type { AuditCountRow, AuditRow } from "../db/tables.ts";
import { type Range, spans, startOf } from "../lib/spans.ts";
import {
  type CountedFilters,
  type CountedInterval,
  findCountedUntil,
  findFirstEntry,
  insertCountedHour,
  listStoredCounts,
} from "./audit.counts.store.ts";
import { auditSteps, auditStream, isRefusal } from "./audit.store.ts";

/** An hour is counted this long after it is over, when the transactions of its entries have been committed. */
const lateMs = 300_000;
const rowsPerChunk = 2_000;
/** A log of an older release is counted in some minutes. */
const hoursPerRound = 1_000;

/**
 * Counts the entries of each past hour once, so that no request counts them. Works in bounded steps, so that it can be
 * stopped at any moment and resumed.
 */
export async function countAuditLog(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (let hours = 0; hours < hoursPerRound; hours += 1) {
    const first = await findFirstEntry(await findCountedUntil(database.reads), database.reads);
    if (first === undefined) return;
    const start = startOf("hour", first);
    if (start + spans.hour + lateMs > now) return;
    const counts = await countHour(start, database.reads, signal);
    await database.write(async ({ queries }) => {
      if ((await findCountedUntil(queries)) <= start) await insertCountedHour(counts, queries);
    });
  }
}

async function countHour(
  start: number,
  queries: Queries,
  signal?: AbortSignal,
): Promise<Omit<AuditCountRow, "span">[]> {
  const counts = new Map<string, Omit<AuditCountRow, "span">>();
  const hour = { at: { start, end: start + spans.hour - 1 } };
  for await (const rows of auditSteps(hour, rowsPerChunk, queries)) {
    signal?.throwIfAborted();
    for (const row of rows) for (const scope of new Set(["", row.application_id])) add(row, scope);
  }
  return [...counts.values()];

  function add(row: AuditRow, scope: string): void {
    const { actor_kind, action } = row;
    const is_refused = Number(isRefusal(row));
    const key = JSON.stringify([scope, actor_kind, action, is_refused]);
    const count = counts.get(key) ?? {
      application_id: scope,
      starts_at: start,
      actor_kind,
      action,
      is_refused,
      entries: 0,
    };
    count.entries += 1;
    counts.set(key, count);
  }
}

const actionsMax = 100;
/** More than the log of most deployments has in an hour. */
const uncountedMax = 5_000;

interface CountedEntries {
  /** Intervals with entries, the earliest first. */
  readonly points: readonly { readonly at: number; readonly entries: number; readonly refused: number }[];
  /** The most frequent first. */
  readonly actions: { action: string; entries: number }[];
  /** Whether there are entries that are not counted. */
  readonly isAtLeast: boolean;
}

/** Adds the entries since the last counted hour, at most the newest 5,000, to the stored counts. */
export async function countEntries(
  filters: CountedFilters,
  interval: CountedInterval,
  range: Range,
  queries: Queries,
): Promise<CountedEntries> {
  const stored = await listStoredCounts(filters, interval, range, queries);
  const points = new Map<number, { at: number; entries: number; refused: number }>();
  const actions = new Map<string, number>();
  let countedUntil = 0;
  for (const { kind, starts_at, is_refused, action, entries } of stored) {
    if (kind === "until") countedUntil = entries === 0 ? 0 : starts_at + spans.hour;
    else if (kind === "action") addToAction(action, entries);
    else addToPoint(starts_at, entries, is_refused === 1);
  }
  const at = { start: Math.max(range.from, countedUntil), end: range.to - 1 };
  const stream = auditStream({ ...filters, at }, queries);
  const { rows } = await stream.take({ direction: "forward", count: uncountedMax + 1 });
  for (const row of rows.slice(0, uncountedMax)) {
    addToPoint(startOf(interval, row.at), 1, isRefusal(row));
    addToAction(row.action, 1);
  }
  return {
    points: [...points.values()].sort((one, other) => one.at - other.at),
    actions: [...actions]
      .map(([action, entries]) => ({ action, entries }))
      .sort((one, other) => other.entries - one.entries || (one.action < other.action ? -1 : 1))
      .slice(0, actionsMax),
    isAtLeast: rows.length > uncountedMax,
  };

  function addToPoint(time: number, entries: number, isRefused: boolean): void {
    const point = points.get(time) ?? { at: time, entries: 0, refused: 0 };
    point.entries += entries;
    if (isRefused) point.refused += entries;
    points.set(time, point);
  }

  function addToAction(action: string, entries: number): void {
    actions.set(action, (actions.get(action) ?? 0) + entries);
  }
}
