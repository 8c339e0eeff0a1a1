import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { WebhookRow } from "../db/tables.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { LogFollower } from "../event-log/follower.ts";
import type { Jobs, RunningJob } from "../jobs/job.ts";
import { runInCall } from "../lib/current-call.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import { eventsPerRead, isWanted } from "./webhooks.entries.ts";
import { mailAboutDisabled } from "./webhooks.mail.ts";
import { createWebhookQueue, type QueueBounds } from "./webhooks.queue.ts";
import {
  listBehind,
  listCutOff,
  listMailed,
  listServed,
  listServedApplications,
  listWaking,
  type WebhookName,
} from "./webhooks.serving.store.ts";
import type { ServingServices } from "./webhooks.serving.ts";
import { findWebhook } from "./webhooks.store.ts";
import { createWebhookWatch, type WebhookStatistics, type WebhookWatch } from "./webhooks.watch.ts";

const webhooksMax = 10_000;
const rowsMax = 5_000;

/** Detects logged events for a webhook. */
interface WebhookNews {
  /**
   * Reads only log rows that this process has not read before, so that events of other types cost a webhook no write.
   * Also true for a position far behind, so that it advances with the log.
   */
  hasNews(row: WebhookRow): Promise<boolean>;
}

function createWebhookNews({ eventLog }: { readonly eventLog: Pick<EventLog, "list" | "findEnd"> }): WebhookNews {
  /** The position up to which the log has no event for a webhook, and the row to which that applies. */
  const quietTo = new LruMap<string, { readonly of: string; readonly position: number }>(webhooksMax);

  return {
    async hasNews(row) {
      const { application_id, id, position, types, log, turn } = row;
      const of = `${log} ${turn} ${position} ${types}`;
      const known = quietTo.get(id);
      let from = known?.of === of ? known.position : position;
      const end = await eventLog.findEnd(application_id);
      if (end.log !== log) return true;
      while (from < end.position && from - position < rowsMax) {
        const events = await eventLog.list(application_id, from, eventsPerRead);
        const [first] = events;
        if (first === undefined || first.position !== from + 1) return true; // the log has passed the webhook
        if (events.some((event) => isWanted(event, row))) return true;
        from = events.at(-1)?.position ?? end.position;
      }
      quietTo.set(id, { of, position: from });
      return from - position >= rowsMax;
    },
  };
}

const scansPerLongScan = 12;
const wakeMs = 1_000;
const watchMs = 30_000;
/**
 * Delays after a write of this process: for its commit, for a slow commit, and in case another process was serving the
 * webhook.
 */
const hintMs = [20, 300, 1_500] as const;
/** Delays after another process reported an event: that process serves the webhook first if it can. */
const foreignHintMs = [500, 2_000] as const;
/**
 * The number of applications whose logs a process follows for their webhooks; for others, the scan finds new events.
 */
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
export interface RunnerServices extends ServingServices {
  readonly eventFollower: Pick<LogFollower, "follow">;
  readonly jobs: Jobs;
}

/** Sends the events of webhooks in this process. */
export interface WebhookRunner {
  /** Reports that a transaction of this process, which may still fail, recorded an event of an application. */
  notice(applicationId: string): void;
  /** Reports that this process registered or resumed a webhook of an application. */
  expect(applicationId: string): void;
  /** Starts to scan for webhooks and to serve them. */
  start(services: RunnerServices): void;
  /** Scans for due webhooks and mails, and serves them; resolves when all have been served. */
  serveAll(): Promise<void>;
  /** Waits for attempts in progress, at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /** The number of attempts by outcome, since the start of this process. */
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly servingCount: number;
  /** The state of the deployment's webhooks, at most half a minute old. */
  statistics(): WebhookStatistics;
}

export function createWebhookRunner(bounds: Partial<RunnerBounds> = {}): WebhookRunner {
  const allBounds = { ...usualBounds, ...bounds };
  const { scanMs, isAutomatic } = allBounds;
  const stopping = new AbortController();
  const queue = createWebhookQueue(allBounds, stopping.signal);
  const noticed = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  const jobs: RunningJob[] = [];
  // Work after an event must not run inside the transaction of the call that caused the event.
  const outside = new AsyncResource("WebhookRunner");
  /** The followed applications, each with a function that stops following. */
  const followed = new Map<string, () => void>();
  let applications: ReadonlySet<string> = new Set();
  let scans = 0;
  let context:
    | {
        readonly services: RunnerServices;
        readonly news: WebhookNews;
        readonly watch: WebhookWatch;
      }
    | undefined;

  function serve(name: WebhookName): Promise<void> {
    return context === undefined ? Promise.resolve() : queue.serve(name, context.services);
  }

  async function serveApplication(applicationId: string): Promise<void> {
    if (context === undefined || stopping.signal.aborted) return;
    const { database, log } = context.services;
    try {
      for (const row of await listServed(applicationId, database.reads)) {
        if (queue.has(row.id) || (await hasWork(row))) void serve({ applicationId, id: row.id });
      }
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, "the webhooks of an application could not be found");
    }
  }

  async function hasWork(row: WebhookRow | undefined): Promise<boolean> {
    if (row === undefined || context === undefined) return false;
    const now = context.services.clock.now();
    if (row.wake_at !== null && row.wake_at <= now) return true;
    return row.state === "active" && row.held_until <= now && (await context.news.hasNews(row));
  }

  async function scan(isLong: boolean): Promise<WebhookName[]> {
    if (context === undefined) return [];
    const { database, clock } = context.services;
    applications = await listServedApplications(database.reads);
    followAll();
    if (applications.size === 0) return [];
    const found = await listWaking(clock.now(), database.reads);
    for (const name of await listBehind(database.reads)) {
      if (found.some(({ id }) => id === name.id)) continue;
      if (await hasWork(await findWebhook(name.applicationId, name.id, database.reads))) found.push(name);
    }
    return isLong ? [...found, ...(await listCutOff(database.reads))] : found;
  }

  async function mailAll(services: RunnerServices): Promise<void> {
    for (const name of await listMailed(services.clock.now(), services.database.reads)) {
      if (stopping.signal.aborted) return;
      await mailAboutDisabled(name, services).catch((err) => {
        services.log.warn({ err, appid: name.applicationId, webhook: name.id }, "a mail about a webhook was not sent");
      });
    }
  }

  /** Scans after every committed event has its position. */
  async function scanSettled(): Promise<WebhookName[]> {
    if (context === undefined) return [];
    const { database, eventLog } = context.services;
    for (const applicationId of await listServedApplications(database.reads)) await eventLog.settle(applicationId);
    return scan(true);
  }

  /** Runs background work after each delay, outside any call. */
  function later(delays: readonly number[], work: (index: number) => Promise<void>): void {
    for (const [index, ms] of delays.entries()) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        void outside.runInAsyncScope(() => runInCall({ work: "webhooks" }, () => work(index)));
      }, ms);
      timer.unref();
      timers.add(timer);
    }
  }

  async function watch(): Promise<void> {
    if (context === undefined || stopping.signal.aborted) return;
    try {
      await context.watch.refresh();
    } catch (err) {
      if (!stopping.signal.aborted) context.services.log.warn({ err }, "webhooks could not be counted for metrics");
    }
  }

  function follow(applicationId: string): void {
    if (!isAutomatic || context === undefined || stopping.signal.aborted) return;
    if (followed.has(applicationId) || followed.size >= followedMax) return;
    let isExpected = false;
    const stop = context.services.eventFollower.follow(applicationId, () => {
      if (isExpected || noticed.has(applicationId) || stopping.signal.aborted) return;
      isExpected = true;
      later(foreignHintMs, (index) => {
        if (index === 0) isExpected = false;
        return serveApplication(applicationId);
      });
    });
    followed.set(applicationId, stop);
  }

  function followAll(): void {
    for (const [applicationId, stop] of followed) {
      if (applications.has(applicationId)) continue;
      stop();
      followed.delete(applicationId);
    }
    for (const applicationId of applications) follow(applicationId);
  }

  return {
    outcomes: queue.outcomes,
    get servingCount() {
      return queue.servingCount;
    },

    notice(applicationId) {
      if (!isAutomatic || !applications.has(applicationId) || noticed.has(applicationId) || stopping.signal.aborted)
        return;
      noticed.add(applicationId);
      later(hintMs, (index) => {
        if (index === 0) noticed.delete(applicationId);
        return serveApplication(applicationId);
      });
    },

    expect(applicationId) {
      if (!isAutomatic || context === undefined || stopping.signal.aborted) return;
      applications = new Set([...applications, applicationId]);
      outside.runInAsyncScope(follow, undefined, applicationId);
      later([0], () => serveApplication(applicationId));
    },

    start(services) {
      context = {
        services,
        news: createWebhookNews(services),
        watch: createWebhookWatch(services, () => later([0], watch)),
      };
      if (!isAutomatic) return;
      const every = (everyMs: number, run: () => Promise<unknown>) =>
        jobs.push(services.jobs.start({ name: "webhooks", everyMs, failure: "webhooks could not be found", run }));
      every(scanMs, async () => {
        const isLong = scans % scansPerLongScan === 0;
        scans += 1;
        for (const name of await scan(isLong)) void serve(name);
        if (isLong) await mailAll(services);
      });
      every(watchMs, watch);
      every(wakeMs, async () => {
        queue.stopExpiredSlices();
        if (applications.size === 0) return;
        for (const name of await listWaking(services.clock.now(), services.database.reads)) void serve(name);
      });
    },

    statistics: () => context?.watch.latest() ?? { states: new Map(), behind: [] },

    async serveAll() {
      if (context !== undefined) await mailAll(context.services);
      let found = await scanSettled();
      while (found.length > 0 && !stopping.signal.aborted) {
        await Promise.all(found.map(serve));
        found = await scanSettled();
      }
    },

    async stop(graceMs) {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
      for (const job of jobs) void job.stop();
      for (const end of followed.values()) end();
      followed.clear();
      await Promise.race([queue.idle(), sleep(graceMs, undefined, { ref: false })]);
    },
  };
}
