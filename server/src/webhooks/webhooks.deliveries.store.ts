import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { type Condition, equals, tieOrder, within } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import { inSteps, rowsPerStep } from "../db/steps.ts";
import type { DeliveryState, WebhookDeliveryRow, WebhookRow, WebhookState } from "../db/tables.ts";
import { type PlacedEvent, rowsPerRead } from "../event-log/log-rows.store.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { DateRange } from "../lib/dates.ts";
import type { Page, Position } from "../lib/keyset.ts";
import type { Backlog } from "./webhooks.operator.contract.ts";
import { listWatched, typesOf, type WebhookKey } from "./webhooks.store.ts";

/** Returns a delivery that has not been attempted. */
export function newDelivery(
  { application_id, id: webhook_id, log }: Pick<WebhookRow, "application_id" | "id" | "log">,
  { id: event_id, type, position }: Pick<PlacedEvent, "id" | "type" | "position">,
  id: string,
  now: number,
): WebhookDeliveryRow {
  return {
    ...{ application_id, webhook_id, id, event_id, type, log, position, attempt: 0, state: "waiting", is_replay: 0 },
    ...{ status: null, ms: null, error: null, response: null, created_at: now, next_attempt_at: now },
  };
}

export interface DeliveryFilters {
  readonly state?: DeliveryState;
  readonly eventID?: string;
  readonly type?: string;
  readonly created?: DateRange;
}

/** Lists a page of a webhook's deliveries, newest first. */
export function listDeliveries(
  { applicationId, id }: WebhookKey,
  filters: DeliveryFilters,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<WebhookDeliveryRow>> {
  const { state, eventID, type, created = {} } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId), equals("webhook_id", id)];
  if (state !== undefined) conditions.push(equals("state", state));
  if (eventID !== undefined) conditions.push(equals("event_id", eventID));
  if (type !== undefined) conditions.push(equals("type", type));
  conditions.push(...within("created_at", created));
  const scope = { shape: "webhook deliveries", from: sql`webhook_deliveries`, select: sql`*`, conditions };
  const stream = scopeStream<WebhookDeliveryRow>(scope, tieOrder("id"), true, queries);
  return readPage(stream, position, size, work);
}

export async function findDelivery(
  key: WebhookKey,
  id: string,
  queries: Queries,
): Promise<WebhookDeliveryRow | undefined> {
  return selectOf(key, queries).selectAll().where("id", "=", id).executeTakeFirst();
}

export async function insertDeliveries(rows: readonly WebhookDeliveryRow[], queries: Queries): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsPerStep) {
    const some = rows.slice(from, from + rowsPerStep);
    await queries.insertInto("webhook_deliveries").values(some).execute();
  }
}

/** Stores the result of an attempt in its delivery. */
export async function updateDelivery(row: WebhookDeliveryRow, queries: Queries): Promise<void> {
  const { application_id, webhook_id, id, attempt, state, status, ms, error, response, next_attempt_at } = row;
  await updateOf({ applicationId: application_id, id: webhook_id }, queries)
    .set({ attempt, state, status, ms, error, response, next_attempt_at })
    .where("id", "=", id)
    .execute();
}

/** The due deliveries, the most overdue first. */
export const listDue = prepare<WebhookKey & { readonly now: number; readonly count: number }, WebhookDeliveryRow>(
  (queries, parameter) =>
    queries
      .selectFrom("webhook_deliveries")
      .selectAll()
      .where("application_id", "=", parameter("applicationId"))
      .where("webhook_id", "=", parameter("id"))
      .where("next_attempt_at", "is not", null)
      .where("next_attempt_at", "<=", parameter("now"))
      .orderBy("next_attempt_at")
      .orderBy("id")
      .limit(rowLimit(parameter("count"))),
);

/** Returns when the next delivery is due. */
export async function findNextDue(key: WebhookKey, queries: Queries): Promise<number | undefined> {
  const row = await selectOf(key, queries)
    .select("next_attempt_at")
    .where("next_attempt_at", "is not", null)
    .orderBy("next_attempt_at")
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at ?? undefined;
}

/** Finds the waiting delivery of the oldest event after a position. */
export async function findOldestWaiting(
  key: WebhookKey,
  after: number,
  queries: Queries,
): Promise<WebhookDeliveryRow | undefined> {
  return selectOf(key, queries)
    .selectAll()
    .where("next_attempt_at", "is not", null)
    .where("position", ">", after)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();
}

/** Lists the events whose deliveries wait for an attempt. */
export async function listWaitingEvents(key: WebhookKey, queries: Queries): Promise<readonly string[]> {
  const rows = await selectOf(key, queries).select("event_id").where("next_attempt_at", "is not", null).execute();
  return rows.map(({ event_id }) => event_id);
}

/** Counts the deliveries that wait for an attempt, up to `countMax`, and returns when the oldest of them began. */
export async function sumWaiting(
  { applicationId, id }: WebhookKey,
  countMax: number,
  queries: Queries,
): Promise<{ readonly count: number; readonly oldestAt: number | undefined }> {
  const [row] = await selectSum(queries, { applicationId, id, countMax });
  return { count: Number(row?.count ?? 0), oldestAt: row?.oldest_at ?? undefined };
}

const selectSum = prepare<WebhookKey & { countMax: number }, { count: number | bigint; oldest_at: number | null }>(
  (queries, parameter) =>
    queries
      .selectFrom(
        queries
          .selectFrom("webhook_deliveries")
          .select("created_at")
          .where("application_id", "=", parameter("applicationId"))
          .where("webhook_id", "=", parameter("id"))
          .where("next_attempt_at", "is not", null)
          .limit(rowLimit(parameter("countMax")))
          .as("open"),
      )
      .select((from) => [from.fn.countAll<number>().as("count"), from.fn.min("created_at").as("oldest_at")]),
);

/**
 * Counts a webhook's events behind its cursor, and those that wait for another attempt. The log has no index by type,
 * so only its next 10,000 events are examined.
 */
export async function findBacklog(row: WebhookRow, queries: Queries): Promise<Backlog> {
  const { application_id, id, position } = row;
  const isOfTypes = sql`type in (${sql.join([...typesOf(row.types).keys()])})`;
  const ofLog = sql`select type, at from events where application_id = ${application_id}`;
  // On PostgreSQL an event gets its position soon after its commit.
  const { rows } = await sql<{ examined: number; count: number; oldest_at: number | null }>`
    select count(*) as examined, count(case when ${isOfTypes} then 1 end) as count,
      min(case when ${isOfTypes} then at end) as oldest_at
    from (
      select type, at from (${ofLog} and position > ${position} order by position limit ${rowsPerRead}) as placed
      union all
      select type, at from (${ofLog} and position is null order by number limit ${rowsPerRead}) as unplaced
    ) as behind`.execute(queries);
  const [behind] = rows;
  const waiting = await sumWaiting({ applicationId: application_id, id }, rowsPerRead, queries);
  const since = [behind?.oldest_at, waiting.oldestAt].filter((at) => typeof at === "number");
  const events = Number(behind?.count ?? 0) + waiting.count;
  return {
    events: Math.min(rowsPerRead, events),
    isAtLeast: Number(behind?.examined ?? 0) >= rowsPerRead || events > rowsPerRead,
    since: since.length === 0 ? undefined : Math.min(...since.map(Number)),
  };
}

/** The state of a deployment's webhooks at the latest query. */
export interface WebhookStatistics {
  readonly states: ReadonlyMap<WebhookState, number>;
  /** Webhooks with waiting events, and the time at which the oldest was written. */
  readonly behind: readonly {
    readonly applicationId: string;
    readonly id: string;
    readonly events: number;
    readonly since: number;
  }[];
}

/** The number of webhooks whose waiting events are counted, starting with those that do not receive events. */
const countedMax = 1_000;

export async function findStatistics({ reads }: Pick<Database, "reads">): Promise<WebhookStatistics> {
  const { states, rows } = await listWatched(countedMax, reads);
  const behind: WebhookStatistics["behind"][number][] = [];
  for (const row of rows) {
    const { events, since } = await findBacklog(row, reads);
    if (since !== undefined) behind.push({ applicationId: row.application_id, id: row.id, events, since });
  }
  return { states, behind };
}

/**
 * Schedules the oldest finished or failed deliveries in a state for another attempt, as replays. Leaves out events that
 * the log has dropped.
 *
 * @returns their number
 */
export async function reopenDeliveries(
  key: WebhookKey,
  { state, type, created: { start, end } = {} }: DeliveryFilters & { readonly state: DeliveryState },
  { oldestPosition, count, now }: { readonly oldestPosition: number; readonly count: number; readonly now: number },
  queries: Queries,
): Promise<number> {
  let oldest = selectOf(key, queries)
    .select("id")
    .where("state", "=", state)
    .where("position", ">=", oldestPosition)
    .orderBy("id")
    .limit(count);
  if (type !== undefined) oldest = oldest.where("type", "=", type);
  if (start !== undefined) oldest = oldest.where("created_at", ">=", start);
  if (end !== undefined) oldest = oldest.where("created_at", "<=", end);
  const { numUpdatedRows } = await updateOf(key, queries)
    .set({ state: "waiting", attempt: 0, is_replay: 1, next_attempt_at: now })
    .where("id", "in", oldest)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** Makes deliveries that wait for a later attempt due now. */
export async function makeDeliveriesDue(key: WebhookKey, now: number, queries: Queries): Promise<void> {
  await updateOf(key, queries).set({ next_attempt_at: now }).where("next_attempt_at", ">", now).execute();
}

/** Closes the other waiting deliveries of an event after the receiver accepted one that an operator requested. */
export async function closeOtherDeliveries(
  { application_id, webhook_id, event_id, status, ms, error, response }: WebhookDeliveryRow,
  queries: Queries,
): Promise<void> {
  await updateOf({ applicationId: application_id, id: webhook_id }, queries)
    .set({ state: "delivered", next_attempt_at: null, status, ms, error, response })
    .where("event_id", "=", event_id)
    .where("next_attempt_at", "is not", null)
    .execute();
}

const successesMax = 1_000;

/** Deletes the successes beyond the newest 1,000, in bounded transactions. */
export async function pruneSuccesses(key: WebhookKey, database: Database, signal?: AbortSignal): Promise<void> {
  const newest = await selectOf(key, database.reads)
    .select("id")
    .where("state", "=", "delivered")
    .orderBy("id", "desc")
    .offset(successesMax)
    .limit(1)
    .executeTakeFirst();
  if (newest === undefined) return; // as usual, so that a webhook in order costs no transaction
  await inSteps(database, signal, async (queries) => {
    const older = selectOf(key, queries).where("state", "=", "delivered").where("id", "<=", newest.id);
    const some = older.select("id").limit(rowsPerStep);
    const { numDeletedRows } = await deleteOf(key, queries).where("id", "in", some).executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}

/** Deletes some deliveries of a webhook. @returns their number; the rest is left if it is `rowsPerStep` */
export async function deleteDeliveries(key: WebhookKey, queries: Queries): Promise<number> {
  const some = selectOf(key, queries).select("id").limit(rowsPerStep);
  const { numDeletedRows } = await deleteOf(key, queries).where("id", "in", some).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function selectOf({ applicationId, id }: WebhookKey, queries: Queries) {
  return queries
    .selectFrom("webhook_deliveries")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id);
}

function updateOf({ applicationId, id }: WebhookKey, queries: Queries) {
  return queries
    .updateTable("webhook_deliveries")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id);
}

function deleteOf({ applicationId, id }: WebhookKey, queries: Queries) {
  return queries
    .deleteFrom("webhook_deliveries")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id);
}
