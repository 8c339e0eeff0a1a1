import { lockRow } from "../db/lock.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Background } from "../jobs/background.ts";
import type { AttemptResult } from "./webhooks.attempt.ts";
import { closeOtherDeliveries, insertDeliveries, updateDelivery } from "./webhooks.deliveries.store.ts";
import { nextAttemptAt, nextHealth } from "./webhooks.health.ts";
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
    let health = current;
    let moved = isOfTurn ? reached : undefined;
    const added: WebhookDeliveryRow[] = [];
    for (const attempt of finished) {
      health = healthAfter(attempt, health, now);
      const isAccepted = attempt.result?.outcome === "delivered";
      if (attempt.isProbe && attempt.isNew && !isAccepted) continue; // the log still has the event, and its turn comes
      const row = rowAfter(attempt, health, now);
      if (attempt.isNew) added.push(row);
      else await updateDelivery(row, queries);
      if (isAccepted && row.is_replay === 1) await closeOtherDeliveries(row, queries);
      if (attempt.isNext && isOfTurn) moved = { log: current.log, position: row.position, id: row.event_id, at: now };
    }
    await insertDeliveries(added, queries);
    const isDisabled = health.state === "disabled" && current.state !== "disabled";
    if (isDisabled) await events.record(applicationId, { type: "webhook.disabled", objectId: id }, queries);
    const isMailDue = isDisabled && (await admitMailAboutDisabled(key, services, queries));
    const { state, failures, failed_events, failing_since, probes, probed } = health;
    const { held_until, held_since, last_success_at, last_failure_at } = health;
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

function healthAfter({ delivery, isProbe, result }: FinishedAttempt, health: WebhookRow, now: number): WebhookRow {
  if (result === undefined) return health;
  const judged = nextHealth(health, result, { eventId: delivery.event_id, isProbe, now });
  return { ...health, ...judged, ...(isProbe && { probed: `${delivery.position}` }) };
}

/** Returns the row of a delivery after an attempt. */
function rowAfter(
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
