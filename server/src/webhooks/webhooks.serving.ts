import { setTimeout as sleep } from "node:timers/promises";
import { lockRow } from "../db/lock.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import type { Outgoing } from "../http/outgoing/outgoing.ts";
import type { IdGenerator } from "../lib/ids.ts";
import {
  type AttemptResult,
  attemptDelivery,
  type Outcome,
  type PresentEvent,
  writeEnvelope,
} from "./webhooks.attempt.ts";
import {
  findNextDue,
  findOldestWaiting,
  listDue,
  newDelivery,
  pruneSuccesses,
  sumWaiting,
} from "./webhooks.deliveries.store.ts";
import { EventWindow, findWanted, skipGap } from "./webhooks.log.ts";
import {
  type Attempt,
  type FinishedAttempt,
  nextProbeAt,
  nextWorkAt,
  type ResultServices,
  storeResults,
} from "./webhooks.results.ts";
import type { OpenedWebhook, WebhookSealer } from "./webhooks.secrets.ts";
import { findWebhook, leaseMs, takeLease, updateWebhook, type WebhookKey } from "./webhooks.store.ts";

/** The services that serving a webhook needs. */
export interface ServingServices extends ResultServices {
  readonly eventLog: EventLog;
  readonly ids: IdGenerator;
  readonly outgoing: Outgoing;
  readonly webhookSealer: WebhookSealer;
  presentEventsOf(locations: "true" | "shown"): PresentEvent;
  serverUrl(): string;
}

export interface ServingOptions {
  /** Identifies this process. */
  readonly holder: string;
  /** When aborted, stops after the attempts in flight. */
  readonly signal: AbortSignal;
  onAttempt(outcome: Outcome): void;
}

/** The number of events that may wait for a retry; beyond it, the webhook sends no new event. */
const waitingMax = 10_000;
const duePerRead = 100;
/** How long results wait to be stored together. */
const commitMs = 200;
const resultsPerCommit = 100;
const deliveriesPerPruning = 200;

/** Sends the due events of a webhook until none is left, under its lease; not at all if another process holds it. */
export async function serveWebhook(key: WebhookKey, services: ServingServices, options: ServingOptions): Promise<void> {
  const { database, clock } = services;
  const isOurs = await database.write(({ queries }) => takeLease(key, options.holder, clock.now(), queries));
  if (!isOurs) return;
  const serving = new Serving(key, services, options);
  try {
    await serving.run();
  } finally {
    await serving.end();
  }
}

class Serving {
  readonly #key: WebhookKey;
  readonly #services: ServingServices;
  readonly #options: ServingOptions;
  readonly #window = new EventWindow();
  /** The `turn` of the row at whose position the window started. */
  #turn: number | undefined;
  /** The log position stored in the row. */
  #storedTo: number | undefined;
  readonly #sending = new Map<string, Promise<void>>();
  /** Attempts whose results are not yet stored. */
  #finished: FinishedAttempt[] = [];
  #isLeaseLost = false;
  #failure: unknown;
  #committedAt = performance.now();
  /** The attempts that `perSecond` allows now. */
  #tokens = 1;
  #tokensAt = performance.now();
  #unpruned = 0;

  constructor(key: WebhookKey, services: ServingServices, options: ServingOptions) {
    this.#key = key;
    this.#services = services;
    this.#options = options;
  }

  async run(): Promise<void> {
    for (;;) {
      if (this.#hasUnstoredFailure()) await this.#commit();
      const row = await findWebhook(this.#key, this.#services.database.reads);
      if (row === undefined) return;
      const mayStart = !this.#isLeaseLost && this.#failure === undefined && !this.#options.signal.aborted;
      const hasWork = mayStart && (await this.#start(row));
      if (this.#sending.size === 0 && !hasWork) {
        const hasStored = await this.#commit();
        if (this.#failure !== undefined) throw this.#failure;
        if (!mayStart || !hasStored) return; // stored results may have made more events due
      } else if (!this.#hasUnstoredFailure()) {
        await Promise.race([...this.#sending.values(), sleep(commitMs)]);
        const isDue = performance.now() - this.#committedAt >= commitMs;
        if (isDue || this.#finished.length >= resultsPerCommit || this.#sending.size === 0) await this.#commit();
      }
    }
  }

  /** Stores finished attempts, and releases the lease. */
  async end(): Promise<void> {
    const { database, clock } = this.#services;
    const { applicationId, id } = this.#key;
    await Promise.allSettled(this.#sending.values());
    if (this.#finished.length > 0) await this.#commit();
    await database.write(async ({ queries }) => {
      await lockRow(database.dialect, "webhooks", applicationId, id, queries);
      const row = await findWebhook(this.#key, queries);
      if (row?.lease_holder !== this.#options.holder) return;
      const wake_at = nextWorkAt(row, await findNextDue(this.#key, queries), clock.now());
      await updateWebhook(this.#key, { lease_holder: "", lease_ends_at: 0, wake_at: wake_at ?? null }, queries);
    });
  }

  /** Whether an attempt has failed. A failure may stop the webhook, so it must be stored before the next attempt. */
  #hasUnstoredFailure(): boolean {
    return this.#finished.some(({ result }) => result !== undefined && result.outcome !== "delivered");
  }

  /**
   * Starts as many attempts as the webhook allows.
   *
   * @returns whether one was started, or waits for a slot
   */
  async #start(row: WebhookRow): Promise<boolean> {
    const attempts = await this.#nextAttempts(row);
    if (attempts.length === 0) return false;
    const { clock, database, log, webhookSealer } = this.#services;
    const opened = webhookSealer.open(row, clock.now());
    if (opened === undefined) {
      const webhook = { appid: row.application_id, webhook: row.id };
      log.warn(webhook, "a webhook is paused, because its secret cannot be opened");
      await database.write(({ queries }) => updateWebhook(this.#key, { state: "paused" }, queries));
      return false;
    }
    this.#refill(row.per_second);
    for (const attempt of attempts) {
      if (this.#sending.size >= row.concurrency || this.#hasUnstoredFailure() || this.#tokens < 1) break;
      this.#tokens -= 1;
      this.#send(row, opened, attempt);
    }
    return true;
  }

  #refill(perSecond: number): void {
    const now = performance.now();
    this.#tokens = Math.min(perSecond, this.#tokens + ((now - this.#tokensAt) / 1_000) * perSecond);
    this.#tokensAt = now;
  }

  /** Returns the attempts that can be made now, the most urgent first. */
  async #nextAttempts(row: WebhookRow): Promise<readonly Attempt[]> {
    const now = this.#services.clock.now();
    if (row.turn !== this.#turn) this.#restart(row);
    if (row.held_until > now) return [];
    if (row.state === "failing") return this.#nextProbe(row, now);
    if (row.state !== "active") return [];
    const due = await this.#listDue(now);
    const [first] = due;
    // The webhook receives the event about a gap before the events after the gap.
    if (first?.delivery.type === "webhook.gap") return this.#sending.size === 0 ? [first] : [];
    if (due.length >= row.concurrency) return due;
    if (this.#window.listReady().length === 0) {
      const moved = await this.#readLog(row);
      if (moved !== undefined) return this.#nextAttempts(moved);
    }
    const ready = this.#window.listReady().slice(0, row.concurrency);
    return [...due, ...ready.map((item) => ({ ...this.#firstAttempt(row, item.event, now), item }))];
  }

  #firstAttempt(row: WebhookRow, event: PlacedEvent, now: number): Attempt {
    const delivery = newDelivery(row, event, this.#services.ids.newId("WebhookDelivery"), now);
    return { delivery, isNew: true, isProbe: false };
  }

  #restart(row: WebhookRow): void {
    this.#turn = row.turn;
    this.#storedTo = row.position;
    this.#window.restart(row);
  }

  async #listDue(now: number): Promise<readonly Attempt[]> {
    const busy = new Set([...this.#sending.keys(), ...this.#finished.map(({ delivery }) => delivery.id)]);
    const count = duePerRead + busy.size;
    const rows = await listDue(this.#services.database.reads, { ...this.#key, now, count });
    const free = rows.filter(({ id }) => !busy.has(id));
    return free.map((delivery) => ({ delivery, isNew: false, isProbe: false }));
  }

  /**
   * Reads the next events of the log into the window.
   *
   * @returns the row if the webhook was moved, because the log has dropped events
   */
  async #readLog(row: WebhookRow): Promise<WebhookRow | undefined> {
    const { eventLog, database } = this.#services;
    if ((await sumWaiting(this.#key, waitingMax, database.reads)).count >= waitingMax) return undefined;
    const end = await this.#window.read(row, eventLog);
    if (end === undefined) return undefined;
    // Results of the events before the gap must be stored first.
    if (!this.#window.isEmpty || this.#sending.size > 0 || this.#finished.length > 0) return undefined;
    await skipGap(row, end, this.#services);
    const moved = await findWebhook(this.#key, database.reads);
    if (moved !== undefined) this.#restart(moved);
    return moved;
  }

  /**
   * Returns the attempt with which to probe a failing webhook: with a different event each time, starting with the
   * oldest, because the receiver may refuse one particular event.
   */
  async #nextProbe(row: WebhookRow, now: number): Promise<readonly Attempt[]> {
    if (this.#sending.size > 0 || this.#finished.length > 0 || nextProbeAt(row) > now) return [];
    this.#window.clear();
    const { eventLog, database } = this.#services;
    for (const after of new Set([Number(row.probed) || 0, 0])) {
      const delivery = await findOldestWaiting(this.#key, after, database.reads);
      if (delivery !== undefined) return [{ delivery, isNew: false, isProbe: true }];
      const event = await findWanted(row, Math.max(after, row.position), eventLog);
      if (event === undefined) continue;
      return [{ ...this.#firstAttempt(row, event, now), isProbe: true, isNext: after <= row.position }];
    }
    return [];
  }

  #send(row: WebhookRow, opened: OpenedWebhook, attempt: Attempt): void {
    const { delivery, item } = attempt;
    if (item !== undefined) item.state = "sending";
    const sent = this.#attempt(row, opened, attempt)
      .then(
        (result) => {
          if (result !== undefined) this.#options.onAttempt(result.outcome);
          if (item !== undefined) item.state = "done";
          this.#finished.push({ ...attempt, result });
        },
        (error) => {
          if (item !== undefined) item.state = "ready";
          this.#failure = error;
        },
      )
      .finally(() => this.#sending.delete(delivery.id));
    this.#sending.set(delivery.id, sent);
  }

  /** @returns undefined if the log no longer has the event */
  async #attempt(
    row: WebhookRow,
    opened: OpenedWebhook,
    { delivery, item }: Attempt,
  ): Promise<AttemptResult | undefined> {
    const { eventLog, presentEventsOf, serverUrl } = this.#services;
    const { event_id: id, position, attempt, is_replay } = delivery;
    const event = item?.event ?? (await eventLog.find(row.application_id, position));
    if (event === undefined || event.id !== id) return undefined;
    const presented = await presentEventsOf(row.true_locations === 1 ? "true" : "shown")(event);
    if (presented === undefined) return undefined;
    const body = writeEnvelope(event, presented, serverUrl());
    return attemptDelivery(row, opened, { id, body, attempt: attempt + 1, isReplay: is_replay === 1 }, this.#services);
  }

  /**
   * Stores results and the log position in one transaction, if this process still holds the lease.
   *
   * @returns whether there was something to store
   */
  async #commit(): Promise<boolean> {
    const finished = [...this.#finished]; // the next commit stores attempts that finish during this one
    const { count, reached } = this.#window.countDone();
    const hasResults = finished.length > 0 || (reached !== undefined && reached.position !== this.#storedTo);
    const isLeaseFresh = performance.now() - this.#committedAt < leaseMs / 4;
    if (!hasResults && isLeaseFresh) return false;
    const progress = { holder: this.#options.holder, finished, reached, turn: this.#turn };
    const isStored = await storeResults(this.#key, progress, this.#services);
    this.#isLeaseLost = !isStored;
    this.#committedAt = performance.now();
    if (reached !== undefined) this.#storedTo = reached.position;
    this.#finished = this.#finished.slice(finished.length);
    this.#window.dropFirst(count);
    // An accepted probe may have moved the position, at which the next round must read the log.
    if (finished.some(({ isProbe }) => isProbe)) this.#turn = undefined;
    this.#unpruned += finished.length;
    if (this.#unpruned >= deliveriesPerPruning) {
      this.#unpruned = 0;
      await pruneSuccesses(this.#key, this.#services.database);
    }
    return hasResults;
  }
}
