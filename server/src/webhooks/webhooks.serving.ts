import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import { lockRow } from "../db/lock.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { Outgoing } from "../http/outgoing/outgoing.ts";
import type { Background } from "../jobs/background.ts";
import { type AttemptResult, attemptDelivery, type Outcome } from "./webhooks.attempt.ts";
import { sumOpenDeliveries } from "./webhooks.deliveries.store.ts";
import { type Entry, entryOf, entryOfDelivery, keyOf } from "./webhooks.entries.ts";
import { type PresentEvent, writeEnvelope } from "./webhooks.envelope.ts";
import { skipGap } from "./webhooks.gaps.ts";
import { nextProbeAt } from "./webhooks.health.ts";
import { mailAboutDisabled } from "./webhooks.mail.ts";
import { findProbe } from "./webhooks.probes.ts";
import { type FinishedAttempt, type ResultServices, storeResults } from "./webhooks.results.ts";
import type { OpenedWebhook, WebhookSealer } from "./webhooks.secrets.ts";
import {
  findNextDue,
  leaseMs,
  listDue,
  pruneSuccesses,
  releaseWebhookLease,
  takeWebhookLease,
  type WebhookName,
} from "./webhooks.serving.store.ts";
import { findWebhook, updateWebhook } from "./webhooks.store.ts";
import { EventWindow } from "./webhooks.window.ts";

/** The services that serving a webhook needs. */
export interface ServingServices extends ResultServices {
  readonly background: Background;
  readonly eventLog: EventLog;
  readonly log: Log;
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
const openMax = 10_000;
const duePerRead = 100;
/** How long results wait to be stored together. */
const commitMs = 200;
const resultsPerCommit = 100;
const deliveriesPerPruning = 200;

/**
 * Sends the due events of a webhook until none is left, under the lease of the webhook.
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
  readonly #window = new EventWindow();
  readonly #sending = new Map<string, Promise<void>>();
  #ended: FinishedAttempt[] = [];
  #openCount = 0;
  #isLost = false;
  #failure: unknown;
  #committedAt = performance.now();
  #renewedAt = performance.now();
  /** The log position stored in the row. */
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
      if (this.#mustStore()) await this.#commit();
      const row = await findWebhook(applicationId, id, reads);
      if (row === undefined) return;
      const mayStart = !this.#isLost && this.#failure === undefined && !this.#options.signal.aborted;
      const hasStarted = mayStart && (await this.#start(row));
      if (this.#sending.size === 0 && !hasStarted) {
        await this.#commit();
        if (this.#failure !== undefined) throw this.#failure;
        // A commit may have made more events due.
        if (mayStart && (await this.#hasMore())) continue;
        await this.#commit();
        return;
      }
      if (this.#mustStore()) continue;
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

  /** Whether an attempt has failed. A failure may stop the webhook, so it must be stored before the next attempt. */
  #mustStore(): boolean {
    return this.#ended.some(({ result }) => result !== undefined && result.outcome !== "delivered");
  }

  /** Whether an attempt can start now that results are stored. */
  async #hasMore(): Promise<boolean> {
    const { applicationId, id } = this.#name;
    const row = await findWebhook(applicationId, id, this.#services.database.reads);
    return row !== undefined && ((await this.#nextEntries(row)).length > 0 || this.#window.isBehind);
  }

  /**
   * Starts as many attempts as the webhook allows.
   *
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
      if (this.#sending.size >= row.concurrency || this.#mustStore()) break;
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

  /** Returns the deliveries that can be sent now, the most urgent first. */
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
    if (this.#window.listReady().length === 0) await this.#readLog(row);
    const fresh = this.#window
      .listReady()
      .slice(0, row.concurrency)
      .map((item) => ({ ...entryOf(item.event), item }));
    return [...due, ...fresh];
  }

  #restart(row: WebhookRow): void {
    this.#turn = row.turn;
    this.#storedTo = row.position;
    this.#window.restart(row);
  }

  async #listDue(now: number): Promise<readonly Entry[]> {
    const busy = new Set([...this.#sending.keys(), ...this.#ended.map(({ entry }) => keyOf(entry))]);
    const count = duePerRead + busy.size;
    const rows = await listDue(this.#services.database.reads, { ...this.#name, now, count });
    return rows.map(entryOfDelivery).filter((entry) => !busy.has(keyOf(entry)));
  }

  /** Reads the next events of the log into the window. */
  async #readLog(row: WebhookRow): Promise<void> {
    const { eventLog, database } = this.#services;
    const { applicationId, id } = this.#name;
    if (this.#openCount >= openMax) {
      this.#openCount = (await sumOpenDeliveries(applicationId, id, openMax, database.reads)).count;
      if (this.#openCount >= openMax) return;
    }
    const end = await this.#window.read(row, eventLog);
    if (end === undefined) return;
    if (!this.#window.isEmpty || this.#sending.size > 0 || this.#ended.length > 0) return; // they must be stored first
    await skipGap(row, end, this.#services);
    const moved = await findWebhook(applicationId, id, database.reads);
    if (moved === undefined) return;
    this.#restart(moved);
    this.#window.isBehind = true; // the event about the gap is sent first
  }

  async #nextProbe(row: WebhookRow, now: number): Promise<readonly Entry[]> {
    if (this.#sending.size > 0 || this.#ended.length > 0 || nextProbeAt(row) > now) return [];
    this.#window.clear();
    const { eventLog, database } = this.#services;
    const probe = await findProbe(row, { eventLog, reads: database.reads });
    return probe === undefined ? [] : [probe];
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

  /** Stores results and the log position in one transaction, if this process still holds the lease. */
  async #commit(): Promise<void> {
    const ended = [...this.#ended]; // the next commit stores attempts that finish during this one
    const endedItems = new Set(ended.map(({ entry }) => entry.item));
    const passed = this.#window.countDone((item) => item.state === "done" || endedItems.has(item));
    const isFresh = performance.now() - this.#renewedAt < leaseMs / 4;
    if (ended.length === 0 && isFresh && passed.reached?.position === this.#storedTo) return;
    const progress = { holder: this.#options.holder, ended, reached: passed.reached, turn: this.#turn };
    const stored = await storeResults(this.#name, progress, this.#services);
    if (stored === undefined) this.#isLost = true;
    this.#renewedAt = performance.now();
    this.#storedTo = passed.reached?.position;
    this.#committedAt = performance.now();
    this.#ended = this.#ended.slice(ended.length);
    for (const item of endedItems) if (item !== undefined) item.state = "done";
    this.#window.dropFirst(passed.count);
    this.#openCount += ended.filter(
      ({ entry, result }) => entry.delivery === undefined && result?.outcome !== "delivered",
    ).length;
    // Makes the next round read the log from the stored position.
    if (stored !== undefined && ended.some(({ entry }) => entry.isProbe)) this.#turn = undefined;
    if (stored?.isMailDue) {
      this.#services.background.run(`mail about ${this.#name.id}`, () => mailAboutDisabled(this.#name, this.#services));
    }
    await this.#prune(ended.length);
  }

  async #prune(count: number): Promise<void> {
    this.#unpruned += count;
    if (this.#unpruned < deliveriesPerPruning) return;
    this.#unpruned = 0;
    await this.#services.database.write(({ queries }) => pruneSuccesses(this.#name, queries));
  }
}

/** Returns when a webhook next has work without a new event. */
function wakeAt(row: WebhookRow, due: number | undefined, now: number): number | undefined {
  if (row.state === "failing") return Math.max(nextProbeAt(row), row.held_until);
  if (row.state !== "active") return undefined;
  if (row.held_until > now) return row.held_until;
  return due;
}
