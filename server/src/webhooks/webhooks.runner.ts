import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { WebhookRow } from "../db/tables.ts";
import { runInCall } from "../lib/current-call.ts";
import type { Outcome } from "./webhooks.attempt.ts";
import { createWebhookNews, type WebhookNews } from "./webhooks.news.ts";
import {
  listBehind,
  listLost,
  listServed,
  listServedApplications,
  listUnsettled,
  listWaking,
  type WebhookName,
} from "./webhooks.serving.store.ts";
import { type ServingServices, serveWebhook } from "./webhooks.serving.ts";
import { findWebhook } from "./webhooks.store.ts";

/** The interval at which a process looks for due webhooks that none of its own writes has named. */
const scanMs = 5_000;
const scansPerLongScan = 12;
const wakeMs = 1_000;
/**
 * The delays after a write of this process: for its commit, for a slow one, and in case another process served the
 * webhook.
 */
const hintMs = [20, 300, 1_500] as const;

/** Sends the events of webhooks in this process. */
export interface WebhookRunner {
  /** Records that a transaction of this process, which may still fail, has recorded an event of an application. */
  notice(applicationId: string): void;
  /** Starts to look for webhooks, and to serve them. */
  start(services: ServingServices, onDisabled?: (name: WebhookName) => void): void;
  /** Looks for due webhooks, and serves them; resolves when all have been served. */
  serveAll(): Promise<void>;
  /** Ends attempts in progress, or leaves them after `graceMs`. */
  stop(graceMs: number): Promise<void>;
  /** The numbers of attempts by their result, since the start of this process. */
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly servingCount: number;
}

export function createWebhookRunner(): WebhookRunner {
  const holder = randomUUID();
  const stopping = new AbortController();
  const outcomes = new Map<Outcome, number>();
  const serving = new Map<string, Promise<void>>();
  /** Webhooks that received more work while they were served. */
  const again = new Set<string>();
  const noticed = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  // Deliveries belong to no call, and must not run inside of a transaction of the call whose event caused them.
  const outside = new AsyncResource("WebhookRunner");
  let applications: ReadonlySet<string> = new Set();
  let scans = 0;
  let context:
    | {
        readonly services: ServingServices;
        readonly news: WebhookNews;
        readonly onDisabled: (name: WebhookName) => void;
      }
    | undefined;

  function serve(name: WebhookName): Promise<void> {
    const running = serving.get(name.id);
    if (running !== undefined) {
      again.add(name.id);
      return running;
    }
    if (context === undefined || stopping.signal.aborted) return Promise.resolve();
    const { services, onDisabled } = context;
    const options = {
      holder,
      signal: stopping.signal,
      onAttempt: (outcome: Outcome) => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1),
      onDisabled: () => onDisabled(name),
    };
    const done = outside
      .runInAsyncScope(() => runInCall({ work: "webhook" }, () => serveWebhook(name, services, options)))
      .catch((err) => {
        if (!stopping.signal.aborted) services.log.warn({ err, webhook: name.id }, "a webhook could not be served");
      })
      .then(() => {
        serving.delete(name.id);
        if (again.delete(name.id)) void serve(name);
      });
    serving.set(name.id, done);
    return done;
  }

  async function serveApplication(applicationId: string): Promise<void> {
    if (context === undefined || stopping.signal.aborted) return;
    const { database, log } = context.services;
    try {
      for (const row of await listServed(applicationId, database.reads)) {
        if (serving.has(row.id) || (await hasWork(row))) void serve({ applicationId, id: row.id });
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
    if (applications.size === 0) return [];
    const found = await listWaking(clock.now(), database.reads);
    for (const name of await listBehind(database.reads)) {
      if (await hasWork(await findWebhook(name.applicationId, name.id, database.reads))) found.push(name);
    }
    for (const applicationId of await listUnsettled(database.reads)) {
      if (!applications.has(applicationId)) continue;
      for (const row of await listServed(applicationId, database.reads)) {
        const name = { applicationId, id: row.id };
        if (!found.some(({ id }) => id === row.id) && (await hasWork(row))) found.push(name);
      }
    }
    return isLong ? [...found, ...(await listLost(database.reads))] : found;
  }

  function every(ms: number, work: () => Promise<unknown>): void {
    let isRunning = false;
    const timer = setInterval(() => {
      if (isRunning || stopping.signal.aborted) return;
      isRunning = true;
      runInCall({ work: "webhooks" }, work)
        .catch((err) => {
          if (!stopping.signal.aborted) context?.services.log.warn({ err }, "webhooks could not be found");
        })
        .finally(() => {
          isRunning = false;
        });
    }, ms);
    timer.unref();
    timers.add(timer);
  }

  return {
    outcomes,
    get servingCount() {
      return serving.size;
    },

    notice(applicationId) {
      if (!applications.has(applicationId) || noticed.has(applicationId) || stopping.signal.aborted) return;
      noticed.add(applicationId);
      for (const [index, ms] of hintMs.entries()) {
        const timer = setTimeout(() => {
          timers.delete(timer);
          if (index === 0) noticed.delete(applicationId);
          void outside.runInAsyncScope(() => runInCall({ work: "webhooks" }, () => serveApplication(applicationId)));
        }, ms);
        timer.unref();
        timers.add(timer);
      }
    },

    start(services, onDisabled = () => {}) {
      context = { services, onDisabled, news: createWebhookNews(services) };
      every(scanMs, async () => {
        const isLong = scans % scansPerLongScan === 0;
        scans += 1;
        for (const name of await scan(isLong)) void serve(name);
      });
      every(wakeMs, async () => {
        if (applications.size === 0) return;
        for (const name of await listWaking(services.clock.now(), services.database.reads)) void serve(name);
      });
    },

    async serveAll() {
      let found = await scan(true);
      while (found.length > 0 && !stopping.signal.aborted) {
        await Promise.all(found.map(serve));
        found = await scan(true);
      }
    },

    async stop(graceMs) {
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
      await Promise.race([Promise.all(serving.values()), sleep(graceMs, undefined, { ref: false })]);
    },
  };
}
