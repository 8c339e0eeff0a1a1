import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { type Condition, equals, tieOrder, within } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { DeliveryState, WebhookDeliveryRow } from "../db/tables.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { DateRange } from "../lib/dates.ts";
import type { Page, Position } from "../lib/keyset.ts";

export interface DeliveryFilters {
  readonly state?: DeliveryState;
  readonly eventID?: string;
  readonly type?: string;
  readonly created?: DateRange;
}

/** Lists a page of a webhook's deliveries, newest first. */
export function listDeliveries(
  applicationId: string,
  webhookId: string,
  filters: DeliveryFilters,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<WebhookDeliveryRow>> {
  const { state, eventID, type, created = {} } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId), equals("webhook_id", webhookId)];
  if (state !== undefined) conditions.push(equals("state", state));
  if (eventID !== undefined) conditions.push(equals("event_id", eventID));
  if (type !== undefined) conditions.push(equals("type", type));
  conditions.push(...within("created_at", created));
  const scope = { shape: "webhook deliveries", from: sql`webhook_deliveries`, select: sql`*`, conditions };
  const stream = scopeStream<WebhookDeliveryRow>(scope, tieOrder("id"), true, queries);
  return readPage(stream, position, size, work);
}

export async function findDelivery(
  applicationId: string,
  webhookId: string,
  id: string,
  queries: Queries,
): Promise<WebhookDeliveryRow | undefined> {
  return queries
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", webhookId)
    .where("id", "=", id)
    .executeTakeFirst();
}

export async function insertDeliveries(rows: readonly WebhookDeliveryRow[], queries: Queries): Promise<void> {
  if (rows.length > 0) await queries.insertInto("webhook_deliveries").values(rows).execute();
}

/** Lists the ids of the oldest deliveries in a state, from a log position on. */
export function listOldestDeliveries(
  applicationId: string,
  webhookId: string,
  filters: DeliveryFilters & { readonly state: DeliveryState; readonly after: string; readonly keptFrom: number },
  count: number,
  queries: Queries,
): Promise<readonly Pick<WebhookDeliveryRow, "id">[]> {
  const { state, type, created: { start, end } = {}, after, keptFrom } = filters;
  let found = queries
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", webhookId)
    .where("state", "=", state)
    .where("id", ">", after)
    .where("position", ">=", keptFrom);
  if (type !== undefined) found = found.where("type", "=", type);
  if (start !== undefined) found = found.where("created_at", ">=", start);
  if (end !== undefined) found = found.where("created_at", "<=", end);
  return found.orderBy("id").limit(count).execute();
}

/** Schedules finished deliveries for another attempt, as replays. */
export async function reopenDeliveries(
  applicationId: string,
  webhookId: string,
  ids: readonly string[],
  nextAttemptAt: number,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("webhook_deliveries")
    .set({ state: "waiting", attempt: 0, is_replay: 1, next_attempt_at: nextAttemptAt })
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", webhookId)
    .where("id", "in", ids)
    .execute();
}

/** Lists the events whose deliveries wait for an attempt. */
export async function listOpenEvents(
  applicationId: string,
  webhookId: string,
  queries: Queries,
): Promise<readonly string[]> {
  const rows = await queries
    .selectFrom("webhook_deliveries")
    .select("event_id")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", webhookId)
    .where("next_attempt_at", "is not", null)
    .execute();
  return rows.map(({ event_id }) => event_id);
}

/** Makes deliveries that wait for a later attempt due now. */
export async function makeDeliveriesDue(
  applicationId: string,
  webhookId: string,
  now: number,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("webhook_deliveries")
    .set({ next_attempt_at: now })
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", webhookId)
    .where("next_attempt_at", ">", now)
    .execute();
}

/** Closes the other waiting deliveries of an event after the receiver accepted one that an operator requested. */
export async function closeOtherDeliveries(
  { application_id, webhook_id, event_id, status, ms, error, response }: WebhookDeliveryRow,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("webhook_deliveries")
    .set({ state: "delivered", next_attempt_at: null, status, ms, error, response })
    .where("application_id", "=", application_id)
    .where("webhook_id", "=", webhook_id)
    .where("event_id", "=", event_id)
    .where("next_attempt_at", "is not", null)
    .execute();
}

interface OfWebhook {
  readonly applicationId: string;
  readonly webhookId: string;
}

/** Counts the deliveries that wait for an attempt, up to `countMax`, and returns the position of the oldest. */
export async function sumOpenDeliveries(
  applicationId: string,
  webhookId: string,
  countMax: number,
  queries: Queries,
): Promise<{ readonly count: number; readonly oldestAt: number | undefined }> {
  const [row] = await sumOpen(queries, { applicationId, webhookId, countMax });
  return { count: Number(row?.count ?? 0), oldestAt: row?.oldest_at ?? undefined };
}

const sumOpen = prepare<OfWebhook & { countMax: number }, { count: number | bigint; oldest_at: number | null }>(
  (queries, parameter) =>
    queries
      .selectFrom(
        queries
          .selectFrom("webhook_deliveries")
          .select("created_at")
          .where("application_id", "=", parameter("applicationId"))
          .where("webhook_id", "=", parameter("webhookId"))
          .where("next_attempt_at", "is not", null)
          .limit(rowLimit(parameter("countMax")))
          .as("open"),
      )
      .select((from) => [from.fn.countAll<number>().as("count"), from.fn.min("created_at").as("oldest_at")]),
);
