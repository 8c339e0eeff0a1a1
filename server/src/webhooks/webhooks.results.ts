import { lockRow } from "../db/lock.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Background } from "../jobs/background.ts";
import type { AttemptResult } from "./webhooks.attempt.ts";
import { closeOtherDeliveries, insertDeliveries, updateDelivery } from "./webhooks.deliveries.store.ts";
import type { ReachedPosition, WindowItem } from "./webhooks.log.ts";
import { admitMailAboutDisabled, type MailServices, mailAboutDisabled } from "./webhooks.mail.ts";
import { findWebhook, leaseMs, updateWebhook, type WebhookKey } from "./webhooks.store.ts";

/** An attempt to send an event. */
export interface Attempt {
  readonly delivery: WebhookDeliveryRow;
  /** Whether the delivery has no row yet, because this is its first attempt. */
  readonly isNew: boolean;
  /** Whether it is made because the webhook is failing. */
  readonly isProbe: boolean;
  /** For a probe with an event of the log: whether no event for the webhook is between its cursor and this one. */
  readonly isNext?: boolean;
  readonly item?: WindowItem;
}

export interface FinishedAttempt extends Attempt {
  /** Undefined when the log no longer has the event. */
  readonly result: AttemptResult | undefined;
}

export interface ResultServices extends MailServices {
  readonly background: Background;
  readonly events: EventRecorder;
}

interface Progress {
  readonly holder: string;
  readonly finished: readonly FinishedAttempt[];
  /** The log position that the webhook has reached, and the `turn` of the row under which the log was read. */
  readonly reached: ReachedPosition | undefined;
  readonly turn: number | undefined;
}

/**
 * Stores results and the log position, in one transaction that extends the lease.
 *
 * @returns false if another process has taken the lease, or the webhook no longer exists
 */
export function storeResults(
  key: WebhookKey,
  { holder, finished, reached, turn }: Progress,
  services: ResultServices,
): Promise<boolean> {
  const { database, clock, events, background } = services;
  const { applicationId, id } = key;

  return database.write(async ({ queries, afterCommit }) => {
    await lockRow(database.dialect, "webhooks", applicationId, id, queries);
    const current = await findWebhook(key, queries);
    if (current === undefined || current.lease_holder !== holder) return false;
    const now = clock.now();
    const isOfTurn = current.turn === turn;
    let webhook = current;
    let moved = isOfTurn ? reached : undefined;
    const added: WebhookDeliveryRow[] = [];
    for (const attempt of finished) {
      webhook = webhookAfter(attempt, webhook, now);
      const isAccepted = attempt.result?.outcome === "delivered";
      if (attempt.isProbe && attempt.isNew && !isAccepted) continue; // the log still has the event, and its turn comes
      const row = deliveryAfter(attempt, webhook, now);
      if (attempt.isNew) added.push(row);
      else await updateDelivery(row, queries);
      if (isAccepted && row.is_replay === 1) await closeOtherDeliveries(row, queries);
      if (attempt.isNext && isOfTurn) moved = { log: current.log, position: row.position, id: row.event_id, at: now };
    }
    await insertDeliveries(added, queries);
    const isDisabled = webhook.state === "disabled" && current.state !== "disabled";
    if (isDisabled) await events.record(applicationId, { type: "webhook.disabled", objectId: id }, queries);
    const isMailDue = isDisabled && (await admitMailAboutDisabled(key, services, queries));
    const { state, failures, failed_events, failing_since, probes, probed } = webhook;
    const { held_until, held_since, last_success_at, last_failure_at } = webhook;
    const columns = {
      ...{ state, failures, failed_events, failing_since, probes, probed },
      ...{ held_until, held_since, last_success_at, last_failure_at },
      ...(moved && { log: moved.log, position: moved.position, event_id: moved.id, position_at: moved.at }),
      ...(isMailDue && { mail_due_at: now }),
      lease_ends_at: now + leaseMs,
    };
    await updateWebhook(key, columns, queries);
    if (isMailDue) afterCommit(() => background.run(`mail about ${id}`, () => mailAboutDisabled(key, services)));
    return true;
  });
}

/** Returns the row of a delivery after an attempt. */
function deliveryAfter(
  { delivery, isProbe, result }: FinishedAttempt,
  { held_until }: WebhookRow,
  now: number,
): WebhookDeliveryRow {
  const answered = {
    ...{ ...delivery, status: result?.status ?? null, ms: result?.ms ?? null },
    ...{ error: result?.error ?? null, response: result?.response ?? null },
  };
  if (result === undefined) return { ...answered, state: "dead", error: "eventGone", next_attempt_at: null };
  const { outcome } = result;
  if (outcome === "held") return { ...answered, next_attempt_at: held_until };
  const attempt = delivery.attempt + 1;
  if (outcome === "delivered") return { ...answered, state: "delivered", attempt, next_attempt_at: null };
  if (isProbe) return answered; // attempts do not count while the webhook is failing
  if (outcome === "refused") return { ...answered, state: "refused", attempt, next_attempt_at: null };
  const nextAt = nextAttemptAt(attempt, now);
  return { ...answered, attempt, state: nextAt === undefined ? "dead" : "failed", next_attempt_at: nextAt ?? null };
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The retry delays of a failed delivery. */
const retryMs = [
  ...[5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs],
  ...[10 * hourMs, 14 * hourMs, 20 * hourMs, 24 * hourMs],
] as const;
const jitter = 0.1;

/** @returns undefined after the last attempt */
function nextAttemptAt(attempts: number, now: number): number | undefined {
  const ms = retryMs[attempts - 1];
  return ms === undefined ? undefined : Math.round(now + ms * (1 - jitter + 2 * jitter * Math.random()));
}

const failuresMin = 10;
const failedEventsMin = 3;
const failingAfterMs = 30_000;
const probeMsMax = 60 * minuteMs;
const disabledAfterMs = 5 * dayMs;

/** The columns of a webhook without failures. */
export const healthyColumns = {
  failures: 0,
  failed_events: "",
  failing_since: null,
  probes: 0,
  probed: "",
  held_until: 0,
  held_since: null,
} as const;

/**
 * Returns a webhook after an attempt (spec/webhooks#failing): ten failures in a row, of at least three events and over
 * more than half a minute, make it failing. A success makes it active again; after five failing days it is disabled.
 */
function webhookAfter({ delivery, isProbe, result }: FinishedAttempt, row: WebhookRow, now: number): WebhookRow {
  if (result === undefined) return row;
  const { outcome, holdMs = 0 } = result;
  const probed = isProbe ? `${delivery.position}` : row.probed;
  if (outcome === "delivered") {
    const state = row.state === "failing" ? "active" : row.state;
    return { ...row, ...healthyColumns, probed, state, last_success_at: now };
  }
  if (outcome === "gone") return { ...row, probed, state: "disabled", last_failure_at: now };
  if (outcome === "held") {
    const held_since = row.held_since ?? now;
    const isOver = now - held_since >= disabledAfterMs && row.state !== "paused"; // an operator's pause outlasts a delay
    return { ...row, probed, held_since, held_until: now + holdMs, ...(isOver && { state: "disabled" }) };
  }
  const failed = { ...row, probed, held_until: 0, held_since: null, last_failure_at: now };
  return row.state === "failing" ? afterFailureWhileFailing(failed, isProbe, now) : afterFailure(failed, delivery, now);
}

function afterFailureWhileFailing(row: WebhookRow, isProbe: boolean, now: number): WebhookRow {
  const isOver = row.failing_since !== null && now - row.failing_since >= disabledAfterMs;
  return { ...row, probes: row.probes + (isProbe ? 1 : 0), ...(isOver && { state: "disabled" }) };
}

function afterFailure(row: WebhookRow, { event_id }: WebhookDeliveryRow, now: number): WebhookRow {
  const { since, ids } = readFailed(row, now);
  const failedIds = ids.length < failedEventsMin && !ids.includes(event_id) ? [...ids, event_id] : ids;
  const failures = row.failures + 1;
  const failed = { ...row, failures, failed_events: JSON.stringify({ since, ids: failedIds }) };
  const isFailing =
    row.state === "active" &&
    failures >= failuresMin &&
    failedIds.length >= failedEventsMin &&
    now - since >= failingAfterMs;
  return isFailing ? { ...failed, state: "failing", failing_since: now, probes: 0 } : failed;
}

function readFailed({ failures, failed_events }: WebhookRow, now: number): { since: number; ids: readonly string[] } {
  if (failures === 0 || failed_events === "") return { since: now, ids: [] };
  const { since, ids }: { since: number; ids: readonly string[] } = JSON.parse(failed_events); // written above
  return { since: Math.min(since, now), ids }; // the clock may have been set back
}

/** Returns when to probe a failing webhook next: after 1, 2, 4 … 60 minutes. */
export function nextProbeAt({ failing_since, last_failure_at, probes }: WebhookRow): number {
  const from = probes === 0 ? failing_since : last_failure_at;
  return (from ?? 0) + Math.min(probeMsMax, 2 ** Math.min(probes, 10) * minuteMs);
}

/** Returns when a webhook next has work without a new event. @param due when its next delivery is due */
export function nextWorkAt(row: WebhookRow, due: number | undefined, now: number): number | undefined {
  if (row.state === "failing") return Math.max(nextProbeAt(row), row.held_until);
  if (row.state !== "active") return undefined;
  return row.held_until > now ? row.held_until : due;
}
