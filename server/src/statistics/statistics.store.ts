import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import { deleteOldIntervals } from "../db/steps.ts";
import { type Interval, type Range, spans, startOf } from "../lib/spans.ts";
import { Tally } from "./tally.ts";

/** The retention of intervals of each length. */
const retentionMs = { minute: 2 * spans.day, hour: 90 * spans.day, day: 3 * 365 * spans.day } as const;
const bytesMax = 65_536;

/** The intervals that are merged into longer ones, shorter ones first. */
const steps = [
  { from: "minute", into: "hour" },
  { from: "hour", into: "day" },
] as const;
type Step = (typeof steps)[number];

/**
 * Merges the minutes of each past hour and the hours of each past day, and deletes intervals after their retention.
 * Works in bounded steps, so that it can be stopped at any moment and resumed.
 *
 * @param applicationId empty for all applications together
 */
export async function compactStatistics(
  applicationId: string,
  now: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    for (;;) {
      signal?.throwIfAborted();
      const before = startOf(step.into, now);
      const found = await findPending(applicationId, spans[step.from], before, database.reads);
      if (found === undefined) break;
      await mergeIntervals(applicationId, step, startOf(step.into, found), database);
    }
  }
  for (const interval of ["minute", "hour", "day"] as const) {
    const condition = sql`application_id = ${applicationId} and span = ${spans[interval]} and is_pending = 0`;
    const rows = { table: tableOf(applicationId), start: "starts_at", condition, stepMs: spans.day };
    const before = startOf("hour", now - retentionMs[interval]); // hourly, because each deletion is a transaction
    await deleteOldIntervals(rows, before, database, signal);
  }
}

/**
 * Merges the pending intervals into the one that starts at a time, in one transaction, so that no interval counts
 * twice.
 */
async function mergeIntervals(
  applicationId: string,
  { from, into }: Step,
  start: number,
  database: Database,
): Promise<void> {
  const total = { application_id: applicationId, span: spans[into], starts_at: start };
  await database.write(async ({ queries }) => {
    const before = await lockTotal(total, queries);
    const parts = await markMerged(applicationId, spans[from], { from: start, to: start + spans[into] }, queries);
    const tally = before === undefined ? new Tally() : Tally.read(before.data);
    for (const { data } of parts) tally.merge(Tally.read(data));
    const counts = { calls: tally.calls, errors: tally.failed, data: tally.write(bytesMax) };
    await putTotal({ ...total, is_pending: into === "day" ? 0 : 1, ...counts }, queries);
  });
}

type Span = (typeof spans)[Interval];

/** The counts of one process in a minute, or of all processes in a longer interval. */
export interface StatisticsRow {
  /** Empty for all applications together. */
  readonly application_id: string;
  readonly span: number;
  readonly starts_at: number;
  /** Unique for each row that a process writes; empty for all processes together. */
  readonly writer: string;
  /** 1 until the row is merged into the next longer span. */
  readonly is_pending: number;
  readonly calls: number;
  readonly errors: number;
  readonly data: Uint8Array;
}

/** Returns the table for one application, or for the deployment. */
function tableOf(applicationId: string): "statistics" | "deployment_statistics" {
  return applicationId === "" ? "deployment_statistics" : "statistics";
}

/** Inserts new rows in one transaction. Skips rows of applications that no longer exist here. */
export function insertStatistics(rows: readonly StatisticsRow[], { write }: Database): Promise<void> {
  return write(async ({ queries }) => {
    const existing = await listExisting(rows, queries);
    for (const table of ["statistics", "deployment_statistics"] as const) {
      const added = rows.filter((row) => tableOf(row.application_id) === table && existing.has(row.application_id));
      if (added.length === 0) continue;
      const insert = queries.insertInto(table).values(added);
      await insert.onConflict((conflict) => conflict.doNothing()).execute();
    }
  });
}

/** Returns which applications of these rows exist here, and the empty id. */
export async function listExisting(
  rows: readonly { readonly application_id: string }[],
  queries: Queries,
): Promise<ReadonlySet<string>> {
  const existing = await queries
    .selectFrom("applications")
    .select("application_id")
    .where(
      "application_id",
      "in",
      rows.map(({ application_id }) => application_id),
    )
    .where("deleted_at", "is", null)
    .execute();
  return new Set(["", ...existing.map(({ application_id }) => application_id)]);
}

/** Lists the rows of the intervals in a range, unordered, possibly several per interval. */
export function listStatistics(
  applicationId: string,
  interval: Interval,
  { from, to }: Range,
  queries: Queries,
): Promise<{ starts_at: number; data: Uint8Array }[]> {
  const rows = queries
    .selectFrom(tableOf(applicationId))
    .select(["starts_at", "data"])
    .where("application_id", "=", applicationId)
    .where("starts_at", ">=", from)
    .where("starts_at", "<", to);
  const span = spans[interval];
  // One statement, so that it does not read a row both before and after a merge.
  return rows
    .where("span", "=", span)
    .unionAll(rows.where("is_pending", "=", 1).where("span", "<", span))
    .execute();
}

const busiestMs = 900_000;
const busiestMax = 100;

/** Lists the applications with the most calls in the last 15 minutes, the busiest first. */
export function listBusiest(
  now: number,
  queries: Queries,
): Promise<{ application_id: string; calls: number; errors: number }[]> {
  return queries
    .selectFrom("statistics")
    .innerJoin("applications", "applications.application_id", "statistics.application_id")
    .select(["statistics.application_id", sql<number>`cast(sum(calls) as bigint)`.as("calls")])
    .select(sql<number>`cast(sum(errors) as bigint)`.as("errors"))
    .where("span", "=", spans.minute)
    .where("starts_at", ">=", now - busiestMs)
    .where("deleted_at", "is", null)
    .groupBy("statistics.application_id")
    .orderBy("calls", "desc")
    .orderBy("statistics.application_id")
    .limit(rowLimit(busiestMax))
    .execute();
}

/** Returns the start of the earliest pending interval, if it is before a time. */
async function findPending(
  applicationId: string,
  span: Span,
  before: number,
  queries: Queries,
): Promise<number | undefined> {
  const first = await queries
    .selectFrom(tableOf(applicationId))
    .select("starts_at")
    .where("application_id", "=", applicationId)
    .where("is_pending", "=", 1)
    .where("span", "=", span)
    .where("starts_at", "<", before)
    .orderBy("starts_at")
    .limit(rowLimit(1))
    .executeTakeFirst();
  return first?.starts_at;
}

/** Marks the intervals of a range as merged, and returns them. */
function markMerged(
  applicationId: string,
  span: Span,
  { from, to }: Range,
  queries: Queries,
): Promise<{ data: Uint8Array }[]> {
  return queries
    .updateTable(tableOf(applicationId))
    .set({ is_pending: 0 })
    .where("application_id", "=", applicationId)
    .where("is_pending", "=", 1)
    .where("span", "=", span)
    .where("starts_at", ">=", from)
    .where("starts_at", "<", to)
    .returning("data")
    .execute();
}

/** Reads and locks the row of all processes together until the transaction commits. */
function lockTotal(
  { application_id, span, starts_at }: Pick<StatisticsRow, "application_id" | "span" | "starts_at">,
  queries: Queries,
): Promise<{ data: Uint8Array } | undefined> {
  return queries
    .updateTable(tableOf(application_id))
    .set({ writer: "" })
    .where("application_id", "=", application_id)
    .where("span", "=", span)
    .where("starts_at", "=", starts_at)
    .where("writer", "=", "")
    .returning("data")
    .executeTakeFirst();
}

/** Inserts or replaces a row of all processes together. */
async function putTotal(row: Omit<StatisticsRow, "writer">, queries: Queries): Promise<void> {
  const { is_pending, calls, errors, data } = row;
  await queries
    .insertInto(tableOf(row.application_id))
    .values({ ...row, writer: "" })
    .onConflict((conflict) =>
      conflict
        .columns(["application_id", "span", "starts_at", "writer"])
        .doUpdateSet({ is_pending, calls, errors, data }),
    )
    .execute();
}
