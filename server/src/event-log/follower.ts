import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { createAnnouncements, readAnnouncement } from "./announcements.ts";
import type { EventLog } from "./event-log.ts";
import { findHeads, type LogHead } from "./heads.store.ts";

/** Detects new events for the waiting readers of a process. */
export interface LogFollower {
  /**
   * Calls a listener whenever the head of an application's log may have changed, until the returned function is called.
   *
   * @param listener receives undefined when the application has been erased
   */
  follow(applicationId: string, listener: (head: LogHead | undefined) => void): () => void;
  /** Resolves when the log has an event after a position or another revision, after a time, or when `gone` is aborted. */
  wait(applicationId: string, position: number, ms: number, gone?: AbortSignal): Promise<void>;
  /** Records that a transaction of this process, which may still fail, has recorded an event. */
  touch(applicationId: string): void;
  close(): void;
}

/** The interval for detecting commits of other processes on an engine where that costs nothing. */
const foreignPollMs = 20;
/** For this time after this process has recorded an event, any of its commits may be the one of that transaction. */
const touchedMs = 1_000;
/** The pause between two polls on an engine where a poll is a round trip. */
const restMs = 5;
/** A connection listens for this time after the last reader, because waiting clients come and go. */
const lingerMs = 60_000;

interface Followed {
  readonly listeners: Set<(head: LogHead | undefined) => void>;
  head: LogHead | undefined;
}

interface FollowerServices {
  readonly database: Database;
  readonly eventLog: Pick<EventLog, "settle" | "place">;
  /** Makes commits of other processes visible to reads. */
  refresh(): void;
  readonly log: Log;
}

export function createLogFollower(
  { eventsPollMs }: Pick<Config, "eventsPollMs">,
  services: FollowerServices,
): LogFollower {
  const { database, eventLog, log } = services;
  const followed = new Map<string, Followed>();
  const touched = new Map<string, number>();
  const announcements = createAnnouncements({ database, log });
  // A poll belongs to no call, and must not run in a transaction of the call that started it.
  const context = new AsyncResource("LogFollower");
  const poller = createPoller(followed, context, services);
  const triggers = createTriggers(database, eventsPollMs, (applicationIds) =>
    poller.poll(applicationIds ?? followed.keys()),
  );

  database.onCommit(() => {
    if (touched.size === 0) return;
    const now = performance.now();
    const ready = [...touched.keys()];
    // Where transactions run concurrently, this commit may belong to another one.
    for (const [id, until] of touched) if (!database.dialect.hasRowLocks || now > until) touched.delete(id);
    setImmediate(poller.poll, ready);
    for (const id of ready) eventLog.place(id);
    // Processes on an engine with one writer detect the commits of others themselves.
    if (database.dialect.hasRowLocks) context.runInAsyncScope(announcements.announce, undefined, ready);
  });

  const follower: LogFollower = {
    follow(applicationId, listener) {
      const entry = followed.getOrInsertComputed(applicationId, () => ({ listeners: new Set(), head: undefined }));
      entry.listeners.add(listener);
      context.runInAsyncScope(triggers.start);
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size > 0 || followed.get(applicationId) !== entry) return;
        followed.delete(applicationId);
        if (followed.size === 0) triggers.stop();
      };
    },

    async wait(applicationId, position, ms, gone) {
      if (gone?.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const leave = () => resolve();
      gone?.addEventListener("abort", leave, { once: true });
      let revision: string | undefined;
      const stop = follower.follow(applicationId, (head) => {
        revision ??= head?.revision;
        if (head === undefined || head.position !== position || head.revision !== revision) resolve();
      });
      const timer = setTimeout(resolve, ms);
      const known = followed.get(applicationId)?.head;
      revision = known?.revision;
      poller.poll([applicationId]);
      await promise;
      clearTimeout(timer);
      gone?.removeEventListener("abort", leave);
      stop();
    },

    touch(applicationId) {
      touched.set(applicationId, performance.now() + touchedMs);
    },

    close() {
      poller.close();
      announcements.close();
      triggers.close();
      followed.clear();
    },
  };
  return follower;
}

interface Poller {
  /** Reads the heads of these applications soon, if they are followed. */
  poll(applicationIds: Iterable<string>): void;
  close(): void;
}

/** Reads heads, one query at a time, and reports the changed ones to their listeners. */
function createPoller(
  followed: ReadonlyMap<string, Followed>,
  context: AsyncResource,
  { database, eventLog, refresh, log }: FollowerServices,
): Poller {
  const due = new Set<string>();
  let isPolling = false;
  let isClosed = false;
  let isFailing = false;

  async function pollDue(): Promise<void> {
    while (due.size > 0 && !isClosed) {
      const applicationIds = [...due].filter((id) => followed.has(id));
      due.clear();
      try {
        await pollOnce(applicationIds);
        isFailing = false;
      } catch (err) {
        // The next poll reads them again.
        if (!isFailing && !isClosed) log.warn({ err }, "the logs of events could not be read");
        isFailing = true;
      }
      if (database.dialect.hasRowLocks) await sleep(restMs);
      else await new Promise(setImmediate);
    }
    isPolling = false;
  }

  async function pollOnce(applicationIds: readonly string[]): Promise<void> {
    refresh();
    const heads = await findHeads(applicationIds, database.reads);
    const waiting = applicationIds.filter((id) => heads.get(id)?.isWaiting === true);
    await Promise.all(waiting.map(eventLog.settle));
    const settled = waiting.length === 0 ? undefined : await findHeads(waiting, database.reads);
    for (const id of applicationIds) report(id, settled?.get(id) ?? heads.get(id));
  }

  function report(applicationId: string, head: LogHead | undefined): void {
    const entry = followed.get(applicationId);
    if (entry === undefined) return;
    const { head: known } = entry;
    const isSame = head?.position === known?.position && head?.revision === known?.revision && head?.log === known?.log;
    if (isSame && head !== undefined) return;
    entry.head = head;
    for (const listener of [...entry.listeners]) listener(head);
  }

  return {
    poll(applicationIds) {
      for (const id of applicationIds) if (followed.has(id)) due.add(id);
      if (isPolling || due.size === 0 || isClosed) return;
      isPolling = true;
      void context.runInAsyncScope(pollDue);
    },
    close() {
      isClosed = true;
    },
  };
}

interface Triggers {
  start(): void;
  /** Stops polling; a connection continues to listen for a while. */
  stop(): void;
  close(): void;
}

/** Requests polls by the engine's means: a timer, foreign commits, and signals. @param poll undefined for all */
function createTriggers(
  database: Database,
  eventsPollMs: number,
  poll: (applicationIds?: readonly string[]) => void,
): Triggers {
  let isClosed = false;
  let lastMark = 0;
  let ticker: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  let lingering: NodeJS.Timeout | undefined;

  function pollAfterForeignCommits(): void {
    let mark: number | undefined;
    try {
      mark = database.foreignMark();
    } catch {
      return; // the database is busy or closed; the next poll sees the same commits
    }
    if (mark === lastMark || mark === undefined) return;
    lastMark = mark;
    poll();
  }

  function stop(): void {
    clearInterval(ticker);
    ticker = undefined;
    clearTimeout(lingering);
    lingering = setTimeout(unlisten, lingerMs).unref();
  }

  function unlisten(): void {
    stopListening?.();
    stopListening = undefined;
  }

  return {
    start() {
      if (isClosed) return;
      clearTimeout(lingering);
      stopListening ??= database.listen?.({
        onBegin: () => poll(),
        onSignal: (text) => poll(readAnnouncement(text)),
      });
      if (ticker !== undefined) return;
      lastMark = database.foreignMark() ?? 0;
      const isMarked = database.foreignMark() !== undefined;
      ticker = setInterval(isMarked ? pollAfterForeignCommits : () => poll(), isMarked ? foreignPollMs : eventsPollMs);
      ticker.unref();
    },
    stop,
    close() {
      isClosed = true;
      stop();
      clearTimeout(lingering);
      unlisten();
    },
  };
}
