import { type RawBuilder, sql } from "kysely";
import { withoutTestCallers } from "../auth/without-test-callers.ts";
import { countRows } from "../db/count-rows.ts";
import type { Database, Queries } from "../db/database.ts";
import { countMax } from "../lib/counted.ts";
import { startOf } from "../lib/spans.ts";
import { findUsage } from "../storage/usage.ts";

const kinds = ["devices", "users", "checkins"] as const;
export type CountedKind = (typeof kinds)[number];

/** The number of an application's objects of a kind. */
export interface Total {
  readonly count: number;
  /** False if the count is last night's, plus the objects created since. */
  readonly isExact: boolean;
}

interface Totals extends Readonly<Record<CountedKind, Total>> {
  readonly files: number;
  readonly bytes: number;
}

/** The number of rows that maintenance counts per statement. */
const rowsPerStep = 10_000;
/**
 * Above this, a stored count is returned without counting rows, because fewer than {@link countMax} rows are unlikely.
 */
const clearlyAboveMax = 2 * countMax;

/**
 * Reads at most a thousand rows per number. The number of files is stored.
 *
 * @param readAdded counts the objects created since a time
 */
export async function findTotals(
  applicationId: string,
  readAdded: (since: number) => Promise<Readonly<Record<CountedKind, number>>>,
  queries: Queries,
): Promise<Totals> {
  const kept = await listKeptCounts(applicationId, queries);
  async function find(kind: CountedKind): Promise<Total> {
    const last = kept.find((each) => each.kind === kind);
    if (last === undefined || last.counted <= clearlyAboveMax) {
      const { count, isMore } = await countRows(countedRows(kind, applicationId), queries);
      if (!isMore) return { count, isExact: true };
    }
    const added = last === undefined ? 0 : (await readAdded(startOf("hour", last.counted_at)))[kind];
    return { count: Math.max(countMax, (last?.counted ?? 0) + added), isExact: false };
  }
  const [devices, users, checkins] = [await find("devices"), await find("users"), await find("checkins")];
  return { devices, users, checkins, ...(await findUsage(applicationId, queries)) };
}

function listKeptCounts(
  applicationId: string,
  queries: Queries,
): Promise<{ kind: CountedKind; counted: number; counted_at: number }[]> {
  return queries
    .selectFrom("kept_counts")
    .select(["kind", "counted", "counted_at"])
    .where("application_id", "=", applicationId)
    .execute();
}

/** Counts an application's objects once a day, in bounded steps. If stopped, it restarts in the next round. */
export async function updateTotals(
  applicationId: string,
  now: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const kept = await listKeptCounts(applicationId, database.reads);
  if (kept.length === kinds.length && kept.every(({ counted_at }) => counted_at >= startOf("day", now))) return;
  for (const kind of kinds) {
    const counted = await countAll(kind, applicationId, database.reads, signal);
    await database.write(({ queries }) => putKeptCount({ application_id: applicationId, kind, counted }, now, queries));
  }
}

async function countAll(
  kind: CountedKind,
  applicationId: string,
  queries: Queries,
  signal: AbortSignal | undefined,
): Promise<number> {
  let total = 0;
  let after: string | null = "";
  while (after !== null) {
    signal?.throwIfAborted();
    const { counted, last } = await countStep(kind, applicationId, after, queries);
    total += Number(counted);
    after = last;
  }
  return total;
}

interface CountedStep {
  readonly counted: number | bigint | string;
  /** The last id that was counted, if any. */
  readonly last: string | null;
}

async function countStep(
  kind: CountedKind,
  applicationId: string,
  after: string,
  queries: Queries,
): Promise<CountedStep> {
  const step = sql`select id ${countedRows(kind, applicationId)} and id > ${after} order by id`;
  const { rows } = await sql<CountedStep>`
    select count(*) as counted, max(id) as last from (${step} limit ${sql.lit(rowsPerStep)}) as step`.execute(queries);
  return rows[0] ?? { counted: 0, last: null };
}

/** The rows of a kind that are not deleted, from `from` on, without test devices and test users. */
export function countedRows(kind: CountedKind, applicationId: string): RawBuilder<unknown> {
  const rows = sql`from ${sql.table(kind)} where application_id = ${applicationId}`;
  if (kind === "checkins") return rows;
  const existing = kind === "users" ? sql`and deleted_at is null` : sql``;
  return sql`${rows} ${existing} ${withoutTestCallers(kind, applicationId)}`;
}

async function putKeptCount(
  row: { readonly application_id: string; readonly kind: CountedKind; readonly counted: number },
  counted_at: number,
  queries: Queries,
): Promise<void> {
  await queries
    .insertInto("kept_counts")
    .values({ ...row, counted_at })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "kind"]).doUpdateSet({ counted: row.counted, counted_at }),
    )
    .execute();
}
