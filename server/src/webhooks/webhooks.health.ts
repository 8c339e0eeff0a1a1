import type { WebhookRow } from "../db/tables.ts";
import type { AttemptResult } from "./webhooks.attempt.ts";

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
export function nextAttemptAt(attempts: number, now: number, random = Math.random): number | undefined {
  const ms = retryMs[attempts - 1];
  return ms === undefined ? undefined : Math.round(now + ms * (1 - jitter + 2 * jitter * random()));
}

const failuresMin = 10;
const failedEventsMin = 3;
const failingAfterMs = 30_000;
const probeMsMax = 60 * minuteMs;
const disabledAfterMs = 5 * dayMs;

/** The columns that describe a webhook's health. */
export type Health = Pick<
  WebhookRow,
  | "state"
  | "failures"
  | "failed_events"
  | "failing_since"
  | "probes"
  | "held_until"
  | "held_since"
  | "last_success_at"
  | "last_failure_at"
>;

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
 * Returns the changes by an attempt (spec/webhooks#failing): ten failures in a row, of at least three events and over
 * more than half a minute, make a webhook failing. A success makes it active again; after five failing days it is
 * disabled.
 *
 * @param isProbe whether the attempt was made because the webhook is failing
 */
export function nextHealth(
  health: Health,
  { outcome, holdMs = 0 }: AttemptResult,
  { eventId, isProbe, now }: { readonly eventId: string; readonly isProbe: boolean; readonly now: number },
): Health {
  switch (outcome) {
    case "delivered": {
      const { probed: _, ...better } = healthyColumns;
      const state = health.state === "failing" ? "active" : health.state;
      return { ...health, ...better, state, last_success_at: now };
    }
    case "gone":
      return { ...health, state: "disabled", last_failure_at: now };
    case "held": {
      const held_since = health.held_since ?? now;
      const state = isOver(held_since, now) ? "disabled" : health.state;
      return { ...health, state: changed(health.state, state), held_since, held_until: now + holdMs };
    }
    default:
      return judgeFailure({ ...health, held_until: 0, held_since: null, last_failure_at: now }, eventId, isProbe, now);
  }
}

function judgeFailure(health: Health, eventId: string, isProbe: boolean, now: number): Health {
  const { state, failing_since } = health;
  if (state === "failing") {
    const isEnded = failing_since !== null && isOver(failing_since, now);
    return { ...health, state: isEnded ? "disabled" : state, probes: health.probes + (isProbe ? 1 : 0) };
  }
  const { since, ids } = readFailed(health, now);
  const failedIds = ids.length < failedEventsMin && !ids.includes(eventId) ? [...ids, eventId] : ids;
  const failures = health.failures + 1;
  const failed = { ...health, failures, failed_events: JSON.stringify({ since, ids: failedIds }) };
  const isFailing =
    state === "active" &&
    failures >= failuresMin &&
    failedIds.length >= failedEventsMin &&
    now - since >= failingAfterMs;
  return isFailing ? { ...failed, state: "failing", failing_since: now, probes: 0 } : failed;
}

function readFailed({ failures, failed_events }: Health, now: number): { since: number; ids: readonly string[] } {
  if (failures === 0 || failed_events === "") return { since: now, ids: [] };
  const { since, ids }: { since: number; ids: readonly string[] } = JSON.parse(failed_events); // written above
  return { since: Math.min(since, now), ids }; // the clock may have been set back
}

function isOver(since: number, now: number): boolean {
  return now - since >= disabledAfterMs;
}

/** An operator's pause outlasts a delay that the receiver requests. */
function changed(current: WebhookRow["state"], next: WebhookRow["state"]): WebhookRow["state"] {
  return current === "paused" ? current : next;
}

/** Returns when to probe a failing webhook next: after 1, 2, 4 … 60 minutes. */
export function nextProbeAt({ failing_since, last_failure_at, probes }: Health): number {
  const from = probes === 0 ? failing_since : last_failure_at;
  return (from ?? 0) + Math.min(probeMsMax, 2 ** Math.min(probes, 10) * minuteMs);
}
