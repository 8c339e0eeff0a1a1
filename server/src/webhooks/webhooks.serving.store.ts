import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import type { WebhookDeliveryRow, WebhookRow, WebhookState } from "../db/tables.ts";

export const leaseMs = 30_000;
/** A lease with a later expiry was taken under a clock that was ahead. */
const leaseMsMax = 2 * leaseMs;

interface OfWebhook {
  readonly applicationId: string;
  readonly id: string;
}

/** Takes or extends the lease of a webhook. @returns false if another process holds it */
export async function takeWebhookLease(
  { applicationId, id }: OfWebhook,
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

/** Releases a lease, and stores the time of the webhook's next work. */
export async function releaseWebhookLease(
  { applicationId, id }: OfWebhook,
  holder: string,
  wakeAt: number | undefined,
  queries: Queries,
): Promise<void> {
  await sql`
    update webhooks set lease_holder = '', lease_ends_at = 0, wake_at = ${wakeAt ?? null}
    where application_id = ${applicationId} and id = ${id} and lease_holder = ${holder}`.execute(queries);
}

type OfDue = OfWebhook & { readonly now: number; readonly count: number };

/** The due deliveries, the most overdue first. */
export const listDue = prepare<OfDue, WebhookDeliveryRow>((queries, parameter) =>
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

/** Finds the oldest waiting delivery after the given one. */
export async function findWaitingBehind(
  { applicationId, id }: OfWebhook,
  behind: string,
  queries: Queries,
): Promise<WebhookDeliveryRow | undefined> {
  return queries
    .selectFrom("webhook_deliveries")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id)
    .where("state", "in", ["waiting", "failed"])
    .where("id", ">", behind)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
}

/** Returns when the next delivery is due. */
export async function findNextDue({ applicationId, id }: OfWebhook, queries: Queries): Promise<number | undefined> {
  const row = await queries
    .selectFrom("webhook_deliveries")
    .select("next_attempt_at")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id)
    .where("next_attempt_at", "is not", null)
    .orderBy("next_attempt_at")
    .limit(1)
    .executeTakeFirst();
  return row?.next_attempt_at ?? undefined;
}

/**
 * Claims the mail about a webhook: no other process sends it until a later time.
 *
 * @returns when the webhook was disabled; undefined if no mail is due
 */
export async function claimWebhookMail(
  { applicationId, id }: OfWebhook,
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

/** Clears the due time of the mail about a webhook, after it was sent or became impossible. */
export async function clearWebhookMail({ applicationId, id }: OfWebhook, queries: Queries): Promise<void> {
  await sql`
    update webhooks set mail_due_at = null where application_id = ${applicationId} and id = ${id}`.execute(queries);
}

/** Stores the result of an attempt in its delivery. */
export async function updateDelivery(row: WebhookDeliveryRow, queries: Queries): Promise<void> {
  const { application_id, webhook_id, id, attempt, state, status, ms, error, response, next_attempt_at } = row;
  await queries
    .updateTable("webhook_deliveries")
    .set({ attempt, state, status, ms, error, response, next_attempt_at })
    .where("application_id", "=", application_id)
    .where("webhook_id", "=", webhook_id)
    .where("id", "=", id)
    .execute();
}

const successesMax = 1_000;

/** Deletes the oldest successes beyond the newest 1,000. */
export async function pruneSuccesses({ applicationId, id }: OfWebhook, queries: Queries): Promise<void> {
  const oldest = await queries
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id)
    .where("state", "=", "delivered")
    .orderBy("id", "desc")
    .offset(successesMax)
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return;
  await queries
    .deleteFrom("webhook_deliveries")
    .where("application_id", "=", applicationId)
    .where("webhook_id", "=", id)
    .where("state", "=", "delivered")
    .where("id", "<=", oldest.id)
    .execute();
}

export interface WebhookName {
  readonly applicationId: string;
  readonly id: string;
}

const webhooksPerScan = 1_000;

/** Lists webhooks whose log has events after their cursor. Positions have no holes, so one index look-up decides. */
export function listBehind(queries: Queries): Promise<WebhookName[]> {
  return listNames(
    sql`join events as next on next.application_id = webhook.application_id and next.position = webhook.position + 1
      where webhook.state = 'active' and webhook.held_until = 0`,
    queries,
  );
}

/** Lists webhooks with work that is due at a time. */
export function listWaking(now: number, queries: Queries): Promise<WebhookName[]> {
  return listNames(
    sql`where webhook.wake_at is not null and webhook.wake_at <= ${now} and webhook.state in ('active', 'failing')`,
    queries,
  );
}

/** Lists webhooks about which a mail is due. */
export function listMailed(now: number, queries: Queries): Promise<WebhookName[]> {
  return listNames(sql`where webhook.mail_due_at is not null and webhook.mail_due_at <= ${now}`, queries);
}

/** Lists webhooks whose cursor is older than the log, or which refer to a replaced log. */
export function listCutOff(queries: Queries): Promise<WebhookName[]> {
  return listNames(
    sql`join event_logs as log on log.application_id = webhook.application_id
      where webhook.state = 'active' and (log.dropped_to > webhook.position or log.name <> webhook.log)`,
    queries,
  );
}

async function listNames(rest: RawBuilder<unknown>, queries: Queries): Promise<WebhookName[]> {
  const { rows } = await sql<{ application_id: string; id: string }>`
    select webhook.application_id, webhook.id from webhooks as webhook ${rest} limit ${webhooksPerScan}`.execute(
    queries,
  );
  return rows.map(({ application_id, id }) => ({ applicationId: application_id, id }));
}

/** Lists the active webhooks of an application. */
export function listServed(applicationId: string, queries: Queries): Promise<WebhookRow[]> {
  return queries
    .selectFrom("webhooks")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("state", "in", ["active", "failing"])
    .execute();
}

/** Lists the applications with active webhooks. */
export async function listServedApplications(queries: Queries): Promise<ReadonlySet<string>> {
  const rows = await queries
    .selectFrom("webhooks")
    .select("application_id")
    .distinct()
    .where("state", "in", ["active", "failing"])
    .execute();
  return new Set(rows.map(({ application_id }) => application_id));
}

/** Counts the webhooks in each state, and lists those with new events; webhooks that do not receive them come first. */
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
