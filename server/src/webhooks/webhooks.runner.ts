import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { WebhookRow } from "../db/tables.ts";
import type { LogFollower } from "../event-log/follower.ts";
import type { Jobs, RunningJob } from "../jobs/job.ts";
import { runInCall } from "../lib/current-call.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import { findStatistics, type WebhookStatistics } from "./webhooks.deliveries.store.ts";
import { createNewsCheck } from "./webhooks.log.ts";
import { mailAboutDisabled } from "./webhooks.mail.ts";
import { type QueueBounds, WebhookQueue } from "./webhooks.queue.ts";
import type { ServingServices } from "./webhooks.serving.ts";
import {
  findWebhook,
  listBehind,
  listCutOff,
  listMailed,
  listServed,
  listServedApplications,
  listWaking,
  type WebhookKey,
} from "./webhooks.store.ts";

const scansPerLongScan = 12;
const wakeMs = 1_000;
const watchMs = 30_000;
/** After this time without a scrape of the metrics, webhooks are not counted. */
const scrapedMsMax = 300_000;
/**
 * Delays after a write of this process: for its commit, for a slow commit, and in case another process was serving the
 * webhook.
 */
const ownDelaysMs = [20, 300, 1_500] as const;
/** Delays after another process reported an event: that process serves the webhook first if it can. */
const foreignDelaysMs = [500, 2_000] as const;
/** The number of applications whose logs a process follows for their webhooks; for others, scans find new events. */
const followedMax = 1_000;

/** Bounds of the webhook runner of a process. */
export interface RunnerBounds extends QueueBounds {
  /** The interval of scans for due webhooks that no event announced. */
  readonly scanMs: number;
  /** Whether webhooks are served as soon as they have something to send; otherwise only by `serveAll`. */
  readonly isAutomatic: boolean;
}

const usualBounds: RunnerBounds = { servedMax: 100, sliceMs: 5_000, scanMs: 5_000, isAutomatic: true };

/** The services that the runner needs. */
interface RunnerServices extends ServingServices {
  readonly eventFollower: Pick<LogFollower, "follow">;
  readonly jobs: Jobs;
}

/** Sends the events of webhooks in this process. */
export class WebhookRunner {
  readonly #bounds: RunnerBounds;
  readonly #stopping = new AbortController();
  readonly #queue: WebhookQueue;
  // Work after an event must not run inside the transaction of the call that caused the event.
  readonly #outside = new AsyncResource("WebhookRunner");
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #jobs: RunningJob[] = [];
  /** The applications with active webhooks, as of the latest scan. */
  #applications: ReadonlySet<string> = new Set();
  /** The followed applications, each with a function that stops following. */
  readonly #followed = new Map<string, () => void>();
  /** The applications that are about to be served after an event, and when. */
  readonly #expected = new Map<string, number>();
  #scans = 0;
  #statistics: WebhookStatistics = { states: new Map(), behind: [] };
  #scrapedAt = Number.NEGATIVE_INFINITY;
  /** Undefined before the start. */
  #context: { readonly services: RunnerServices; hasNews(row: WebhookRow): Promise<boolean> } | undefined;

  constructor(bounds: Partial<RunnerBounds> = {}) {
    this.#bounds = { ...usualBounds, ...bounds };
    this.#queue = new WebhookQueue(this.#bounds, this.#stopping.signal);
  }

  /** The number of attempts by outcome, since the start of this process. */
  get outcomes(): ReadonlyMap<Outcome, number> {
    return this.#queue.outcomes;
  }

  get servingCount(): number {
    return this.#queue.servingCount;
  }

  /** Starts to scan for webhooks and to serve them. */
  start(services: RunnerServices): void {
    this.#context = { services, hasNews: createNewsCheck(services.eventLog) };
    if (!this.#bounds.isAutomatic) return;
    const every = (name: string, everyMs: number, failure: string, run: () => Promise<unknown>) =>
      this.#jobs.push(services.jobs.start({ name, everyMs, failure, run }));
    every("webhooks", this.#bounds.scanMs, "webhooks could not be found", async () => {
      const isLong = this.#scans % scansPerLongScan === 0;
      this.#scans += 1;
      for (const key of await this.#scan(isLong)) void this.#serve(key);
      if (isLong) await this.#mailAll();
    });
    every("webhook retries", wakeMs, "deliveries that are due could not be found", async () => {
      this.#queue.stopExpiredSlices();
      if (this.#applications.size === 0) return;
      for (const key of await listWaking(services.clock.now(), services.database.reads)) void this.#serve(key);
    });
    every("webhook counts", watchMs, "webhooks could not be counted for metrics", () => this.#count());
  }

  /** Waits for attempts in progress, at most `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const job of this.#jobs) void job.stop();
    for (const unfollow of this.#followed.values()) unfollow();
    this.#followed.clear();
    await Promise.race([this.#queue.idle(), sleep(graceMs, undefined, { ref: false })]);
  }

  /** Reports that a transaction of this process, which may still fail, recorded an event of an application. */
  notice(applicationId: string): void {
    if (this.#applications.has(applicationId)) this.#serveAfter(ownDelaysMs, applicationId);
  }

  /** Reports that this process registered or resumed a webhook of an application. */
  expect(applicationId: string): void {
    if (!this.#isActive()) return;
    this.#applications = new Set([...this.#applications, applicationId]);
    this.#outside.runInAsyncScope(() => this.#follow(applicationId));
    this.#later(0, () => this.#serveApplication(applicationId));
  }

  /** Scans for due webhooks and mails, and serves them; resolves when all have been served. */
  async serveAll(): Promise<void> {
    await this.#mailAll();
    let found = await this.#scanSettled();
    while (found.length > 0 && !this.#stopping.signal.aborted) {
      await Promise.all(found.map((key) => this.#serve(key)));
      found = await this.#scanSettled();
    }
  }

  /** The state of the deployment's webhooks, at most half a minute old. */
  statistics(): WebhookStatistics {
    const isFirst = performance.now() - this.#scrapedAt > scrapedMsMax;
    this.#scrapedAt = performance.now();
    if (isFirst) this.#later(0, () => this.#count());
    return this.#statistics;
  }

  async #count(): Promise<void> {
    if (this.#context === undefined || performance.now() - this.#scrapedAt > scrapedMsMax) return;
    this.#statistics = await findStatistics(this.#context.services.database);
  }

  #isActive(): boolean {
    return this.#bounds.isAutomatic && this.#context !== undefined && !this.#stopping.signal.aborted;
  }

  async #serve(key: WebhookKey): Promise<void> {
    if (this.#context !== undefined) await this.#queue.serve(key, this.#context.services);
  }

  async #serveApplication(applicationId: string): Promise<void> {
    if (this.#context === undefined) return;
    for (const row of await listServed(applicationId, this.#context.services.database.reads)) {
      if (this.#queue.has(row.id) || (await this.#hasWork(row))) void this.#serve({ applicationId, id: row.id });
    }
  }

  async #hasWork(row: WebhookRow | undefined): Promise<boolean> {
    if (row === undefined || this.#context === undefined) return false;
    const now = this.#context.services.clock.now();
    if (row.wake_at !== null && row.wake_at <= now) return true;
    return row.state === "active" && row.held_until <= now && (await this.#context.hasNews(row));
  }

  /** Finds the webhooks with something to send. @param isLong also those whose events the log has dropped */
  async #scan(isLong: boolean): Promise<WebhookKey[]> {
    if (this.#context === undefined) return [];
    const { database, clock } = this.#context.services;
    this.#applications = await listServedApplications(database.reads);
    this.#followAll();
    if (this.#applications.size === 0) return [];
    const found = await listWaking(clock.now(), database.reads);
    for (const key of await listBehind(database.reads)) {
      if (found.some(({ id }) => id === key.id)) continue;
      if (await this.#hasWork(await findWebhook(key, database.reads))) found.push(key);
    }
    return isLong ? [...found, ...(await listCutOff(database.reads))] : found;
  }

  /** Scans after every committed event has its position. */
  async #scanSettled(): Promise<WebhookKey[]> {
    if (this.#context === undefined) return [];
    const { database, eventLog } = this.#context.services;
    for (const applicationId of await listServedApplications(database.reads)) await eventLog.settle(applicationId);
    return this.#scan(true);
  }

  async #mailAll(): Promise<void> {
    if (this.#context === undefined) return;
    const { services } = this.#context;
    for (const key of await listMailed(services.clock.now(), services.database.reads)) {
      if (this.#stopping.signal.aborted) return;
      await mailAboutDisabled(key, services).catch((err) => {
        services.log.warn({ err, appid: key.applicationId, webhook: key.id }, "a mail about a webhook was not sent");
      });
    }
  }

  /** Runs background work after a delay, outside any call. */
  #later(ms: number, work: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#outside.runInAsyncScope(() => void runInCall({ work: "webhooks" }, () => this.#attempt(work)));
    }, ms);
    timer.unref();
    this.#timers.add(timer);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      // The next scan finds what was missed.
      if (!this.#stopping.signal.aborted) this.#context?.services.log.warn({ err }, "webhooks could not be found");
    }
  }

  /** Serves an application after each delay, unless it is served sooner after an earlier event. */
  #serveAfter(delaysMs: readonly [number, ...number[]], applicationId: string): void {
    if (!this.#isActive()) return;
    const at = performance.now() + delaysMs[0];
    if ((this.#expected.get(applicationId) ?? Number.POSITIVE_INFINITY) <= at) return;
    this.#expected.set(applicationId, at);
    for (const ms of delaysMs) {
      this.#later(ms, () => {
        if (this.#expected.get(applicationId) === at) this.#expected.delete(applicationId);
        return this.#serveApplication(applicationId);
      });
    }
  }

  /** Notices the events of other processes. */
  #follow(applicationId: string): void {
    if (!this.#isActive() || this.#followed.has(applicationId) || this.#followed.size >= followedMax) return;
    const follower = this.#context?.services.eventFollower;
    const unfollow = follower?.follow(applicationId, () => this.#serveAfter(foreignDelaysMs, applicationId));
    if (unfollow !== undefined) this.#followed.set(applicationId, unfollow);
  }

  #followAll(): void {
    for (const [applicationId, unfollow] of this.#followed) {
      if (this.#applications.has(applicationId)) continue;
      unfollow();
      this.#followed.delete(applicationId);
    }
    for (const applicationId of this.#applications) this.#follow(applicationId);
  }
}
