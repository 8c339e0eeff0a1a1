import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { type Condition, condition, equals, numberOrder, within } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import { mergeStreams, type Stream } from "../db/search/stream.ts";
import { inSteps, rowsPerStep } from "../db/steps.ts";
import type { AuditRow } from "../db/tables.ts";
import type { DateRange } from "../lib/dates.ts";
import type { Page, Position } from "../lib/keyset.ts";

/** Rows are inserted, and deleted when they are old. No statement changes a row of `record`. */
export async function insertAuditRows(rows: readonly AuditRow[], queries: Queries): Promise<void> {
  await queries.insertInto("audit_log").values(rows).execute();
}

/** Inserts rows, or updates the fields of stored rows that further equal refusals change. */
export async function saveNotedRows(rows: readonly AuditRow[], queries: Queries): Promise<void> {
  await queries
    .insertInto("audit_log")
    .values(rows)
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet(({ ref }) => ({
        count: ref("excluded.count"),
        last_at: ref("excluded.last_at"),
        details: ref("excluded.details"),
      })),
    )
    .execute();
}

/** Filters for entries; all given ones must match. */
export interface AuditFilters {
  readonly applicationId?: string | undefined;
  /** The id of an actor, or the kind of an actor without an id. */
  readonly actor?: string | undefined;
  /** Matches any of these. */
  readonly actions?: readonly string[] | undefined;
  /** Matches none of these. */
  readonly exceptActions?: readonly string[] | undefined;
  readonly actorKind?: AuditRow["actor_kind"] | undefined;
  readonly isRefused?: boolean | undefined;
  readonly target?: string | undefined;
  readonly requestId?: string | undefined;
  readonly at?: DateRange;
}

/** A page of the log, newest first. */
export function listAuditRows(
  filters: AuditFilters,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<AuditRow>> {
  return readPage(auditStream(filters, queries), position, size);
}

/** The log, newest first. */
export function auditStream(filters: AuditFilters, queries: Queries): Stream<AuditRow> {
  const { actions = [] } = filters;
  const [first, ...others] = actions.map((action) => entries([equals("action", action)], filters, queries));
  return first === undefined ? entries([], filters, queries) : mergeStreams([first, ...others]);
}

function entries(
  conditions: readonly Condition[],
  { applicationId, actor, actorKind, exceptActions = [], isRefused, target, requestId, at = {} }: AuditFilters,
  queries: Queries,
): Stream<AuditRow> {
  const alike = { application_id: applicationId, actor_id: actor, actor_kind: actorKind, target };
  const given = Object.entries(alike).flatMap(([column, value]) =>
    value === undefined ? [] : [equals(column, value)],
  );
  const refused = isRefused === undefined ? [] : [isRefused ? refusedOnly : exceptRefused];
  const ofRequest = requestId === undefined ? [] : [equals("request_id", requestId), hasRequest];
  const scope = {
    shape: "audit log",
    from: sql`audit_log`,
    select: sql`*`,
    conditions: [
      condition("any", {}, () => sql`true`),
      ...conditions,
      ...given,
      ...ofRequest,
      ...refused,
      ...(exceptActions.length === 0 ? [] : [isNoneOf(exceptActions)]),
      ...within("at", at),
    ],
  };
  return scopeStream<AuditRow>(scope, numberOrder("at"), true, queries);
}

function isNoneOf(actions: readonly string[]): Condition {
  const names = actions.map((_, index) => `except ${index}`);
  const values = Object.fromEntries(actions.map((action, index) => [`except ${index}`, action]));
  return condition(
    `is none of ${actions.length} actions`,
    values,
    (parameter) => sql`action not in (${sql.join(names.map((name) => parameter(name)))})`,
  );
}

/** `details` of a refusal has a member `error`; quotes inside of its values are escaped. */
const withoutError = sql`replace(details, '"error":', '')`;
const refusedOnly = condition("is refused", {}, () => sql`${withoutError} <> details`);
/** Repeats the predicate of the index. */
const hasRequest = condition("has request", {}, () => sql`request_id <> ''`);
const exceptRefused = condition("is not refused", {}, () => sql`${withoutError} = details`);

/** All entries that the filters find, newest first, some at a time. */
export async function* auditSteps(
  filters: AuditFilters,
  rowsPerChunk: number,
  queries: Queries,
): AsyncGenerator<readonly AuditRow[]> {
  const stream = auditStream(filters, queries);
  let last: AuditRow | undefined;
  do {
    const bound = last && ({ side: "after", key: stream.keyOf(last) } as const);
    const { rows } = await stream.take({ direction: "forward", bound, count: rowsPerChunk });
    if (rows.length > 0) yield rows;
    last = rows.length < rowsPerChunk ? undefined : rows.at(-1);
  } while (last !== undefined);
}

/** Whether an entry is about a refusal, as the filter `isRefused` finds it. */
export function isRefusal({ details }: Pick<AuditRow, "details">): boolean {
  return details.includes('"error":');
}

/** Deletes events older than a time, a bounded number of rows per transaction. */
export async function deleteOldAuditRows(before: number, database: Database, signal?: AbortSignal): Promise<void> {
  await inSteps(database, signal, async (queries) => {
    const old = queries.selectFrom("audit_log").select("id").where("at", "<", before).limit(rowsPerStep);
    const deleted = await queries.deleteFrom("audit_log").where("id", "in", old).executeTakeFirst();
    return Number(deleted.numDeletedRows);
  });
}
