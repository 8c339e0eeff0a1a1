import { lockRow } from "../db/lock.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { AttemptResult } from "./webhooks.attempt.ts";
import { closeOtherDeliveries, insertDeliveries } from "./webhooks.deliveries.store.ts";
import type { Entry } from "./webhooks.entries.ts";
import { nextAttemptAt, nextHealth } from "./webhooks.health.ts";
import { admitMailAboutDisabled, type MailServices } from "./webhooks.mail.ts";
import { leaseMs, updateDelivery, type WebhookName } from "./webhooks.serving.store.ts";
import { findWebhook, updateWebhook } from "./webhooks.store.ts";
import type { LogPosition } from "./webhooks.window.ts";

/** A finished attempt. */
export interface FinishedAttempt {
  readonly entry: Entry;
  /** Undefined when the log no longer has the event. */
  readonly result: AttemptResult | undefined;
}

export interface ResultServices extends MailServices {
  readonly events: EventRecorder;
  readonly ids: IdGenerator;
}

interface Progress {
  readonly holder: string;
  readonly ended: readonly FinishedAttempt[];
  /** The log position that the webhook has reached, and the `turn` of the row under which the log was read. */
  readonly reached: LogPosition | undefined;
  readonly turn: number | undefined;
}

/**
 * Stores results and the log position, in one transaction that extends the lease.
 *
 * @returns undefined if another process has taken the lease, or the webhook no longer exists
 */
export function storeResults(
  name: WebhookName,
  { holder, ended, reached, turn }: Progress,
  services: ResultServices,
): Promise<{ readonly isMailDue: boolean } | undefined> {
  const { database, clock, ids, events } = services;
  const { applicationId, id } = name;

  return database.write(async ({ queries }) => {
    await lockRow(database.dialect, "webhooks", applicationId, id, queries);
    const current = await findWebhook(applicationId, id, queries);
    if (current === undefined || current.lease_holder !== holder) return undefined;
    const now = clock.now();
    const isOfTurn = current.turn === turn;
    let health = current;
    let moved = isOfTurn ? reached : undefined;
    const added: WebhookDeliveryRow[] = [];
    for (const { entry, result } of ended) {
      health = healthAfter({ entry, result }, health, now);
      const isAccepted = result?.outcome === "delivered";
      if (entry.isProbe && entry.delivery === undefined && !isAccepted) continue; // its log position does not change
      const row = nextRow(entry, result, current, health, now, () => ids.newId("WebhookDelivery"));
      if (entry.delivery === undefined) added.push(row);
      else await updateDelivery(row, queries);
      if (isAccepted && row.is_replay === 1) await closeOtherDeliveries(row, queries);
      if (entry.isProbe && entry.isNext && isOfTurn) {
        moved = { log: current.log, position: entry.position, id: entry.eventId, at: now };
      }
    }
    await insertDeliveries(added, queries);
    const isDisabled = health.state === "disabled" && current.state !== "disabled";
    if (isDisabled) await events.record(applicationId, { type: "webhook.disabled", objectId: id }, queries);
    const isMailDue = isDisabled && (await admitMailAboutDisabled(name, services, queries));
    const { state, failures, failed_events, failing_since, probes, probed } = health;
    const { held_until, held_since, last_success_at, last_failure_at } = health;
    await updateWebhook(
      applicationId,
      id,
      {
        ...{ state, failures, failed_events, failing_since, probes, probed },
        ...{ held_until, held_since, last_success_at, last_failure_at },
        ...(moved && { log: moved.log, position: moved.position, event_id: moved.id, position_at: moved.at }),
        ...(isMailDue && { mail_due_at: now }),
        lease_ends_at: now + leaseMs,
      },
      queries,
    );
    return { isMailDue };
  });
}

function healthAfter({ entry, result }: FinishedAttempt, health: WebhookRow, now: number): WebhookRow {
  if (result === undefined) return health;
  const { eventId, isProbe, delivery, position } = entry;
  const judged = nextHealth(health, result, { eventId, isProbe, now });
  return { ...health, ...judged, ...(isProbe && { probed: delivery?.id ?? `${position}` }) };
}

/** Returns the row of a delivery after an attempt. */
function nextRow(
  { eventId, type, position, isProbe, delivery }: Entry,
  result: AttemptResult | undefined,
  { application_id, id: webhook_id, log }: WebhookRow,
  { held_until }: WebhookRow,
  now: number,
  newId: () => string,
): WebhookDeliveryRow {
  const row: WebhookDeliveryRow = {
    ...(delivery ?? {
      ...{ application_id, webhook_id, id: newId(), event_id: eventId, type, log, position, attempt: 0 },
      ...{ state: "waiting", is_replay: 0, created_at: now, next_attempt_at: now },
    }),
    status: result?.status ?? null,
    ms: result?.ms ?? null,
    error: result === undefined ? "eventGone" : (result.error ?? null),
    response: result?.response ?? null,
  };
  switch (result?.outcome) {
    case undefined:
      return { ...row, state: "dead", next_attempt_at: null };
    case "delivered":
      return { ...row, state: "delivered", attempt: row.attempt + 1, next_attempt_at: null };
    case "held":
      return { ...row, next_attempt_at: held_until };
    default:
  }
  if (isProbe) return row; // attempts do not count while the webhook is failing
  if (result?.outcome === "refused")
    return { ...row, state: "refused", attempt: row.attempt + 1, next_attempt_at: null };
  const attempt = row.attempt + 1;
  const nextAt = nextAttemptAt(attempt, now);
  return { ...row, attempt, state: nextAt === undefined ? "dead" : "failed", next_attempt_at: nextAt ?? null };
}
