import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepareLookup } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { equals, tieOrder } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { WebhookRow, WebhookState } from "../db/tables.ts";
import { eventTypes, matchTypes } from "../event-log/event-types.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { LruMap } from "../lib/lru-map.ts";

/** Identifies a webhook. */
export interface WebhookKey {
  readonly applicationId: string;
  readonly id: string;
}

/** The columns of a webhook that a statement may change. */
export type WebhookColumns = Partial<Omit<WebhookRow, "application_id" | "id">>;

/** Patterns, each with the log position after which it applies. */
type PlacedPatterns = Readonly<Record<string, number>>;

export function writePatterns(patterns: readonly string[], positionOf: (pattern: string) => number): string {
  return JSON.stringify(Object.fromEntries(patterns.map((pattern) => [pattern, positionOf(pattern)])));
}

export function readStoredPatterns(types: string): PlacedPatterns {
  return JSON.parse(types); // written by `writePatterns`
}

/** Returns the types that a webhook receives, each with the log position after which it does. */
export function typesOf(types: string): ReadonlyMap<string, number> {
  const found = computed.get(types) ?? computeTypes(types);
  computed.set(types, found);
  return found;
}

const computed = new LruMap<string, ReadonlyMap<string, number>>(1_000);

function computeTypes(types: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [pattern, position] of Object.entries(readStoredPatterns(types))) {
    for (const type of matchTypes(pattern, eventTypes)) {
      found.set(type, Math.min(position, found.get(type) ?? position));
    }
  }
  return found;
}

export async function insertWebhook(row: WebhookRow, queries: Queries): Promise<void> {
  await queries.insertInto("webhooks").values(row).execute();
}

export async function countWebhooks(applicationId: string, queries: Queries): Promise<number> {
  const row = await queries
    .selectFrom("webhooks")
    .select((from) => from.fn.countAll().as("count"))
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Lists a page of an application's webhooks, oldest first. */
export function listWebhooks(
  applicationId: string,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<WebhookRow>> {
  const conditions = [equals("application_id", applicationId)];
  const scope = { shape: "webhooks", from: sql`webhooks`, select: sql`*`, conditions };
  return readPage(scopeStream<WebhookRow>(scope, tieOrder("id"), false, queries), position, size);
}

export async function findWebhook(key: WebhookKey, queries: Queries): Promise<WebhookRow | undefined> {
  return (await findById(queries, key))[0];
}

const findById = prepareLookup<WebhookKey, WebhookRow>((queries, parameter) =>
  queries
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function updateWebhook(
  { applicationId, id }: WebhookKey,
  columns: WebhookColumns,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("webhooks")
    .set(columns)
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

/** Deletes a webhook; `deleteDeliveries` deletes its deliveries in steps. */
export async function deleteWebhook({ applicationId, id }: WebhookKey, queries: Queries): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("webhooks")
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}

export const leaseMs = 30_000;
/** A lease with a later expiry was taken under a clock that was ahead. */
const leaseMsMax = 2 * leaseMs;

/** Takes or extends the lease of a webhook. @returns false if another process holds it */
export async function takeLease(
  { applicationId, id }: WebhookKey,
  holder: string,
  now: number,
  queries: Queries,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update webhooks set lease_holder = ${holder}, lease_ends_at = ${now + leaseMs}
    where application_id = ${applicationId} and id = ${id}
      and (lease_holder = ${holder} or lease_ends_at <= ${now} or lease_ends_at > ${now + leaseMsMax})`.execute(
    queries,
  );
  return Number(numAffectedRows ?? 0) === 1;
}

/**
 * Claims the mail about a webhook: no other process sends it until a later time.
 *
 * @returns when the webhook was disabled; undefined if no mail is due
 */
export async function claimMail(
  { applicationId, id }: WebhookKey,
  now: number,
  until: number,
  queries: Queries,
): Promise<number | undefined> {
  const { rows } = await sql<{ last_failure_at: number | null }>`
    update webhooks set mail_due_at = ${until}
    where application_id = ${applicationId} and id = ${id} and mail_due_at <= ${now}
    returning last_failure_at`.execute(queries);
  const [claimed] = rows;
  return claimed && Number(claimed.last_failure_at ?? now);
}

/** Lists the active and failing webhooks of an application. */
export function listServed(applicationId: string, queries: Queries): Promise<WebhookRow[]> {
  return queries
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("state", "in", ["active", "failing"])
    .execute();
}

/** Lists the applications with active or failing webhooks. */
export async function listServedApplications(queries: Queries): Promise<ReadonlySet<string>> {
  const rows = await queries
    .selectFrom("webhooks")
    .select("application_id")
    .distinct()
    .where("state", "in", ["active", "failing"])
    .execute();
  return new Set(rows.map(({ application_id }) => application_id));
}

/** Lists webhooks whose log has events after their cursor. Positions have no holes, so one index look-up decides. */
export function listBehind(queries: Queries): Promise<WebhookKey[]> {
  return listKeys(
    sql`join events as next on next.application_id = webhook.application_id and next.position = webhook.position + 1
      where webhook.state = 'active' and webhook.held_until = 0`,
    queries,
  );
}

/** Lists webhooks with work that is due at a time. */
export function listWaking(now: number, queries: Queries): Promise<WebhookKey[]> {
  return listKeys(
    sql`where webhook.wake_at is not null and webhook.wake_at <= ${now} and webhook.state in ('active', 'failing')`,
    queries,
  );
}

/** Lists webhooks about which a mail is due. */
export function listMailed(now: number, queries: Queries): Promise<WebhookKey[]> {
  return listKeys(sql`where webhook.mail_due_at is not null and webhook.mail_due_at <= ${now}`, queries);
}

/** Lists webhooks whose cursor is older than the log, or which refer to a replaced log. */
export function listCutOff(queries: Queries): Promise<WebhookKey[]> {
  return listKeys(
    sql`join event_logs as log on log.application_id = webhook.application_id
      where webhook.state = 'active' and (log.dropped_to > webhook.position or log.name <> webhook.log)`,
    queries,
  );
}

const webhooksPerScan = 1_000;

async function listKeys(rest: RawBuilder<unknown>, queries: Queries): Promise<WebhookKey[]> {
  const { rows } = await sql<{ application_id: string; id: string }>`
    select webhook.application_id, webhook.id from webhooks as webhook ${rest} limit ${webhooksPerScan}`.execute(
    queries,
  );
  return rows.map(({ application_id, id }) => ({ applicationId: application_id, id }));
}

/** Counts the webhooks in each state, and lists some; those that do not receive events come first. */
export async function listWatched(
  count: number,
  queries: Queries,
): Promise<{ readonly states: ReadonlyMap<WebhookState, number>; readonly rows: readonly WebhookRow[] }> {
  const { rows: counts } = await sql<{ state: WebhookState; count: number }>`
    select state, count(*) as count from webhooks group by state`.execute(queries);
  const rows: WebhookRow[] = [];
  for (const state of ["failing", "disabled", "active"] as const) {
    if (rows.length >= count) break;
    const found = await queries
      .selectFrom("webhooks")
      .selectAll()
      .where("state", "=", state)
      .limit(rowLimit(count - rows.length))
      .execute();
    rows.push(...found);
  }
  return { states: new Map(counts.map((each) => [each.state, Number(each.count)])), rows };
}
