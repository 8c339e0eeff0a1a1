import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import type { WebhookDeliveryRow, WebhookRow } from "../db/tables.ts";
import type { Cursor } from "../event-log/cursors.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Log } from "../log.ts";
import type { Outgoing } from "../outgoing/outgoing.ts";
import { type AttemptResult, attemptDelivery, type Outcome } from "./webhooks.attempt.ts";
import { insertDeliveries, sumOpenDeliveries } from "./webhooks.deliveries.store.ts";
import { type PresentEvent, writeEnvelope } from "./webhooks.envelope.ts";
import { typesOf } from "./webhooks.fields.ts";
import { passGap } from "./webhooks.gaps.ts";
import { judgeHealth, nextAttemptAt, nextProbeAt } from "./webhooks.health.ts";
import type { OpenedWebhook, WebhookSealer } from "./webhooks.secrets.ts";
import {
  findNextDue,
  findWaitingBehind,
  leaseMs,
  listDue,
  pruneSuccesses,
  releaseWebhookLease,
  takeWebhookLease,
  updateDelivery,
  type WebhookName,
} from "./webhooks.serving.store.ts";
import { findWebhook, updateWebhook } from "./webhooks.store.ts";

/** The services that serving a webhook needs. */
export interface ServingServices {
  readonly clock: Clock;
  readonly database: Database;
  readonly eventLog: EventLog;
  readonly events: EventRecorder;
  readonly ids: IdGenerator;
  readonly log: Log;
  readonly outgoing: Outgoing;
  readonly webhookSealer: WebhookSealer;
  presentEventsOf(locations: "true" | "shown"): PresentEvent;
  serverUrl(): string;
}

export interface ServingOptions {
  /** Identifies this process. */
  readonly holder: string;
  /** Ends the service after the attempts in progress. */
  readonly signal: AbortSignal;
  onAttempt(outcome: Outcome): void;
  /** Runs when five days of failures, or the receiver, have disabled the webhook. */
  onDisabled(row: WebhookRow): void;
}

/** The number of events that may wait for another attempt; beyond it, no new one is sent. */
const openMax = 10_000;
const rowsPerRead = 500;
const duePerRead = 100;
/** The time for which results wait, so that several are stored together. */
const commitMs = 200;
const resultsPerCommit = 100;
const deliveriesPerPruning = 200;

/** An event of the log that is to be sent, in the order of the log. */
interface Item {
  readonly event: PlacedEvent;
  state: "ready" | "sending" | "done";
}

/** One attempt. */
interface Entry {
  readonly eventId: string;
  readonly type: string;
  readonly position: number;
  readonly isProbe: boolean;
  /** The row of an event that was attempted before, or that is to be sent again. */
  readonly delivery?: WebhookDeliveryRow;
  readonly item?: Item;
  /** For a probe with an event of the log: whether no other event lies between it and the cursor. */
  readonly isNext?: boolean;
}

interface Ended {
  readonly entry: Entry;
  /** Undefined when the log does not have the event any more. */
  readonly result: AttemptResult | undefined;
}

/**
 * Sends the due events of a webhook until there are none, under the lease of the webhook.
 *
 * @returns false if another process serves it
 */
export async function serveWebhook(
  name: WebhookName,
  services: ServingServices,
  options: ServingOptions,
): Promise<boolean> {
  const { database, clock } = services;
  const isOurs = await database.write(({ queries }) => takeWebhookLease(name, options.holder, clock.now(), queries));
  if (!isOurs) return false;
  const serving = new Serving(name, services, options);
  try {
    await serving.run();
  } finally {
    await serving.end();
  }
  return true;
}

class Serving {
  readonly #name: WebhookName;
  readonly #services: ServingServices;
  readonly #options: ServingOptions;
  #turn: number | undefined;
  /** The position up to which the log has been read, with the time of the event there. */
  #readTo: (Cursor & { readonly at: number }) | undefined;
  #window: Item[] = [];
  /** Whether the log has events after those that have been read. */
  #isBehind = false;
  readonly #sending = new Map<string, Promise<void>>();
  #ended: Ended[] = [];
  #openCount = 0;
  #isLost = false;
  #failure: unknown;
  #committedAt = performance.now();
  #renewedAt = performance.now();
  /** The position in the row. */
  #storedTo: number | undefined;
  #tokens = 1;
  #tokensAt = performance.now();
  #unpruned = 0;

  constructor(name: WebhookName, services: ServingServices, options: ServingOptions) {
    this.#name = name;
    this.#services = services;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { applicationId, id } = this.#name;
    const { reads } = this.#services.database;
    this.#openCount = (await sumOpenDeliveries(applicationId, id, openMax, reads)).count;
    while (true) {
      const row = await findWebhook(applicationId, id, reads);
      if (row === undefined) return;
      const mayStart = !this.#isLost && this.#failure === undefined && !this.#options.signal.aborted;
      const hasStarted = mayStart && (await this.#start(row));
      if (this.#sending.size === 0 && !hasStarted) {
        await this.#commit();
        if (this.#failure !== undefined) throw this.#failure;
        // A commit may have changed the due events.
        if (mayStart && (await this.#hasMore())) continue;
        await this.#commit();
        return;
      }
      await Promise.race([...this.#sending.values(), sleep(commitMs)]);
      const isDue = performance.now() - this.#committedAt >= commitMs;
      if (isDue || this.#ended.length >= resultsPerCommit || this.#sending.size === 0) await this.#commit();
    }
  }

  /** Stores finished attempts and releases the lease. */
  async end(): Promise<void> {
    const { database, clock } = this.#services;
    const { applicationId, id } = this.#name;
    await Promise.allSettled(this.#sending.values());
    if (this.#ended.length > 0) await this.#commit();
    await database.write(async ({ queries }) => {
      await lockRow(database.dialect, "webhooks", applicationId, id, queries);
      const row = await findWebhook(applicationId, id, queries);
      if (row === undefined) return;
      const due = await findNextDue(this.#name, queries);
      await releaseWebhookLease(this.#name, this.#options.holder, wakeAt(row, due, clock.now()), queries);
    });
  }

  /** Whether an attempt can start at once, after results were stored. */
  async #hasMore(): Promise<boolean> {
    const { applicationId, id } = this.#name;
    const row = await findWebhook(applicationId, id, this.#services.database.reads);
    return row !== undefined && ((await this.#nextEntries(row)).length > 0 || this.#isBehind);
  }

  /**
   * Starts attempts as far as the webhook allows.
   * @returns whether one was started, or waits for a slot
   */
  async #start(row: WebhookRow): Promise<boolean> {
    const { clock, webhookSealer, log } = this.#services;
    const opened = webhookSealer.open(row, clock.now());
    if (opened === undefined) {
      log.warn(
        { appid: row.application_id, webhook: row.id },
        "a webhook is paused, because its secret cannot be opened",
      );
      await this.#pause();
      return false;
    }
    const entries = await this.#nextEntries(row);
    this.#refill(row.per_second);
    for (const entry of entries) {
      if (this.#sending.size >= row.concurrency) break;
      if (this.#tokens < 1) break;
      this.#tokens -= 1;
      this.#send(row, opened, entry);
    }
    return entries.length > 0;
  }

  #refill(perSecond: number): void {
    const now = performance.now();
    this.#tokens = Math.min(perSecond, this.#tokens + ((now - this.#tokensAt) / 1_000) * perSecond);
    this.#tokensAt = now;
  }

  async #pause(): Promise<void> {
    const { applicationId, id } = this.#name;
    await this.#services.database.write(({ queries }) =>
      updateWebhook(applicationId, id, { state: "paused" }, queries),
    );
  }

  /** The deliveries that can be sent now, the most urgent first. */
  async #nextEntries(row: WebhookRow): Promise<readonly Entry[]> {
    const now = this.#services.clock.now();
    if (row.turn !== this.#turn) this.#restart(row);
    if (row.held_until > now) return [];
    if (row.state === "failing") return this.#nextProbe(row, now);
    if (row.state !== "active") return [];
    const due = await this.#listDue(now);
    const [first] = due;
    // The webhook receives the event about a gap before the events after the gap.
    if (first?.type === "webhook.gap") return this.#sending.size === 0 ? [first] : [];
    if (due.length >= row.concurrency) return due;
    if (!this.#window.some(({ state }) => state === "ready")) await this.#readLog(row);
    const fresh = this.#window
      .filter(({ state }) => state === "ready")
      .slice(0, row.concurrency)
      .map((item) => ({ ...entryOf(item.event), item }));
    return [...due, ...fresh];
  }

  #restart({ turn, log, position, event_id, position_at }: WebhookRow): void {
    this.#turn = turn;
    this.#storedTo = position;
    this.#readTo = { log, position, id: event_id, at: position_at };
    this.#window = [];
  }

  async #listDue(now: number): Promise<readonly Entry[]> {
    const busy = new Set([...this.#sending.keys(), ...this.#ended.map(({ entry }) => keyOf(entry))]);
    const count = duePerRead + busy.size;
    const rows = await listDue(this.#services.database.reads, { ...this.#name, now, count });
    return rows.map(entryOfDelivery).filter((entry) => !busy.has(keyOf(entry)));
  }

  /** Reads the events of the log after the window. */
  async #readLog(row: WebhookRow): Promise<void> {
    const { eventLog, database } = this.#services;
    const { applicationId, id } = this.#name;
    if (this.#openCount >= openMax) {
      this.#openCount = (await sumOpenDeliveries(applicationId, id, openMax, database.reads)).count;
      if (this.#openCount >= openMax) return;
    }
    this.#isBehind = false;
    const end = await eventLog.findEnd(applicationId);
    const from = this.#readTo;
    if (from === undefined || (from.log === end.log && from.position === end.position)) return;
    if ((await eventLog.findGap(applicationId, from, end)) !== undefined) {
      if (this.#window.length > 0 || this.#sending.size > 0 || this.#ended.length > 0) return; // stored first
      await passGap(row, end, this.#services);
      const moved = await findWebhook(applicationId, id, database.reads);
      if (moved === undefined) return;
      this.#restart(moved);
      this.#isBehind = true;
      return; // the event about the gap is sent first
    }
    const events = await eventLog.list(applicationId, from.position, rowsPerRead);
    for (const event of events) if (isWanted(event, row)) this.#window.push({ event, state: "ready" });
    const last = events.at(-1);
    if (last !== undefined) this.#readTo = { log: end.log, position: last.position, id: last.id, at: last.at };
    this.#isBehind = last !== undefined && last.position < end.position && this.#window.length === 0;
  }

  /** Another event each time, the oldest first, so that one event that is always refused proves nothing. */
  async #nextProbe(row: WebhookRow, now: number): Promise<readonly Entry[]> {
    if (this.#sending.size > 0 || this.#ended.length > 0 || nextProbeAt(row) > now) return [];
    this.#window = [];
    const { reads } = this.#services.database;
    const isDelivery = row.probed.startsWith("whd_");
    const waiting =
      row.probed === "" || isDelivery ? await findWaitingBehind(this.#name, row.probed, reads) : undefined;
    if (waiting !== undefined) return [{ ...entryOfDelivery(waiting), isProbe: true }];
    const behind = isDelivery || row.probed === "" ? row.position : Number(row.probed);
    const fresh = await this.#findEvent(row, Math.max(behind, row.position));
    if (fresh !== undefined) return [fresh];
    const again = await findWaitingBehind(this.#name, "", reads);
    if (again !== undefined) return [{ ...entryOfDelivery(again), isProbe: true }];
    const first = await this.#findEvent(row, row.position);
    return first === undefined ? [] : [first];
  }

  async #findEvent(row: WebhookRow, after: number): Promise<Entry | undefined> {
    const events = await this.#services.eventLog.list(row.application_id, after, rowsPerRead);
    const event = events.find((each) => isWanted(each, row));
    return event && { ...entryOf(event), isProbe: true, isNext: after === row.position };
  }

  #send(row: WebhookRow, opened: OpenedWebhook, entry: Entry): void {
    if (entry.item !== undefined) entry.item.state = "sending";
    const key = keyOf(entry);
    const sent = this.#attempt(row, opened, entry)
      .then(
        (result) => {
          if (result !== undefined) this.#options.onAttempt(result.outcome);
          this.#ended.push({ entry, result });
        },
        (error) => {
          this.#failure = error;
          if (entry.item !== undefined) entry.item.state = "ready";
        },
      )
      .finally(() => this.#sending.delete(key));
    this.#sending.set(key, sent);
  }

  async #attempt(row: WebhookRow, opened: OpenedWebhook, entry: Entry): Promise<AttemptResult | undefined> {
    const { eventLog, presentEventsOf, serverUrl } = this.#services;
    const { eventId, position, delivery, item } = entry;
    const event = item?.event ?? (await eventLog.find(row.application_id, position));
    if (event === undefined || event.id !== eventId) return undefined;
    const presented = await presentEventsOf(row.true_locations === 1 ? "true" : "shown")(event);
    if (presented === undefined) return undefined;
    const body = writeEnvelope(event, presented, serverUrl());
    const message = { id: eventId, body, attempt: (delivery?.attempt ?? 0) + 1, isReplay: delivery?.is_replay === 1 };
    return attemptDelivery(row, opened, message, this.#services);
  }

  /** Stores results and the position in the log, in one transaction, if the lease is still this process's. */
  async #commit(): Promise<void> {
    const { database, clock, ids, events } = this.#services;
    const { applicationId, id } = this.#name;
    const ended = [...this.#ended]; // attempts that end meanwhile are stored by the next commit
    const doneIds = new Set(ended.map(({ entry }) => entry.item));
    const isDone = (item: Item) => item.state === "done" || doneIds.has(item);
    const firstOpen = this.#window.findIndex((item) => !isDone(item));
    const passed = firstOpen === -1 ? this.#window.length : firstOpen;
    const lastPassed = this.#window[passed - 1]?.event;
    const place = firstOpen === -1 ? this.#readTo : lastPassed && this.#placeOf(lastPassed);
    const isFresh = performance.now() - this.#renewedAt < leaseMs / 4;
    if (ended.length === 0 && isFresh && place?.position === this.#storedTo) return;
    let disabled: WebhookRow | undefined;

    const isStored = await database.write(async ({ queries }) => {
      disabled = undefined;
      await lockRow(database.dialect, "webhooks", applicationId, id, queries);
      const current = await findWebhook(applicationId, id, queries);
      if (current === undefined || current.lease_holder !== this.#options.holder) return false;
      const now = clock.now();
      let health: WebhookRow = current;
      let moved = current.turn === this.#turn ? place : undefined;
      const added: WebhookDeliveryRow[] = [];
      for (const { entry, result } of ended) {
        if (result !== undefined) {
          const judged = judgeHealth(health, result, { eventId: entry.eventId, isProbe: entry.isProbe, now });
          health = {
            ...health,
            ...judged,
            ...(entry.isProbe && { probed: entry.delivery?.id ?? `${entry.position}` }),
          };
        }
        const isAccepted = result?.outcome === "delivered";
        if (entry.isProbe && entry.delivery === undefined && !isAccepted) continue; // its position stays unchanged
        const row = nextRow(entry, result, current, health, now, () => ids.newId("WebhookDelivery"));
        if (entry.delivery === undefined) added.push(row);
        else await updateDelivery(row, queries);
        if (entry.isProbe && entry.isNext && current.turn === this.#turn) {
          moved = { log: current.log, position: entry.position, id: entry.eventId, at: now };
        }
      }
      await insertDeliveries(added, queries);
      if (health.state === "disabled" && current.state !== "disabled") {
        disabled = health;
        await events.record(applicationId, { type: "webhook.disabled", objectId: id }, queries);
      }
      const { state, failures, failed_events, failing_since, probes, probed } = health;
      const { held_until, held_since, last_success_at, last_failure_at } = health;
      await updateWebhook(
        applicationId,
        id,
        {
          ...{ state, failures, failed_events, failing_since, probes, probed },
          ...{ held_until, held_since, last_success_at, last_failure_at },
          ...(moved && { log: moved.log, position: moved.position, event_id: moved.id, position_at: moved.at }),
          lease_ends_at: now + leaseMs,
        },
        queries,
      );
      return true;
    });

    if (!isStored) this.#isLost = true;
    this.#renewedAt = performance.now();
    this.#storedTo = place?.position;
    this.#committedAt = performance.now();
    this.#ended = this.#ended.slice(ended.length);
    for (const item of doneIds) if (item !== undefined) item.state = "done";
    this.#window = this.#window.slice(passed);
    this.#openCount += ended.filter(
      ({ entry, result }) => entry.delivery === undefined && result?.outcome !== "delivered",
    ).length;
    if (isStored && ended.some(({ entry }) => entry.isProbe)) this.#turn = undefined; // reads the log from its position again
    if (disabled !== undefined) this.#options.onDisabled(disabled);
    await this.#prune(ended.length);
  }

  #placeOf({ position, id, at }: PlacedEvent): (Cursor & { readonly at: number }) | undefined {
    return this.#readTo && { log: this.#readTo.log, position, id, at };
  }

  async #prune(count: number): Promise<void> {
    this.#unpruned += count;
    if (this.#unpruned < deliveriesPerPruning) return;
    this.#unpruned = 0;
    await this.#services.database.write(({ queries }) => pruneSuccesses(this.#name, queries));
  }
}

/** Whether a webhook receives an event: one of its types, and not about the webhook itself. */
export function isWanted({ type, position, object_id }: PlacedEvent, { id, types }: WebhookRow): boolean {
  if (object_id === id && (type === "webhook.gap" || type === "webhook.disabled")) return false;
  const begin = typesOf(types).get(type);
  return begin !== undefined && position > begin;
}

function entryOf({ id, type, position }: PlacedEvent): Entry {
  return { eventId: id, type, position, isProbe: false };
}

function entryOfDelivery(delivery: WebhookDeliveryRow): Entry {
  const { event_id, type, position } = delivery;
  return { eventId: event_id, type, position, isProbe: false, delivery };
}

function keyOf({ delivery, eventId }: Entry): string {
  return delivery?.id ?? eventId;
}

/** The row of a delivery after an attempt. */
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
  if (isProbe) return row; // no attempt counts while the webhook is failing
  if (result?.outcome === "refused")
    return { ...row, state: "refused", attempt: row.attempt + 1, next_attempt_at: null };
  const attempt = row.attempt + 1;
  const nextAt = nextAttemptAt(attempt, now);
  return { ...row, attempt, state: nextAt === undefined ? "dead" : "failed", next_attempt_at: nextAt ?? null };
}

/** The next time at which a webhook has work although no event is written. */
function wakeAt(row: WebhookRow, due: number | undefined, now: number): number | undefined {
  if (row.state === "failing") return Math.max(nextProbeAt(row), row.held_until);
  if (row.state !== "active") return undefined;
  if (row.held_until > now) return row.held_until;
  return due;
}
