import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
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

/** @param refresh makes commits of other processes visible to reads */
export function createLogFollower(
  { eventsPollMs }: Pick<Config, "eventsPollMs">,
  {
    database,
    eventLog,
    refresh,
    log,
  }: {
    readonly database: Database;
    readonly eventLog: Pick<EventLog, "settle" | "place">;
    refresh(): void;
    readonly log: Log;
  },
): LogFollower {
  const followed = new Map<string, Followed>();
  const touched = new Map<string, number>();
  const due = new Set<string>();
  const announcements = createAnnouncements({ database, log });
  // A poll belongs to no call, and must not run in a transaction of the call that started it.
  const context = new AsyncResource("LogFollower");
  let isPolling = false;
  let isClosed = false;
  let lastMark = 0;
  let ticker: NodeJS.Timeout | undefined;
  let stopListening: (() => void) | undefined;
  let lingering: NodeJS.Timeout | undefined;
  let isFailing = false;

  function poll(applicationIds: Iterable<string>): void {
    for (const id of applicationIds) if (followed.has(id)) due.add(id);
    if (isPolling || due.size === 0 || isClosed) return;
    isPolling = true;
    void context.runInAsyncScope(pollDue);
  }

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

  function startPolling(): void {
    if (isClosed) return;
    clearTimeout(lingering);
    stopListening ??= database.listen?.({
      onBegin: pollAll,
      onSignal: (text) => poll(announcements.read(text) ?? followed.keys()),
    });
    if (ticker !== undefined) return;
    lastMark = database.foreignMark() ?? 0;
    const isMarked = database.foreignMark() !== undefined;
    ticker = setInterval(isMarked ? pollAfterForeignCommits : pollAll, isMarked ? foreignPollMs : eventsPollMs);
    ticker.unref();
  }

  function pollAfterForeignCommits(): void {
    let mark: number | undefined;
    try {
      mark = database.foreignMark();
    } catch {
      return; // the database is busy or closed; the next poll sees the same commits
    }
    if (mark === lastMark || mark === undefined) return;
    lastMark = mark;
    pollAll();
  }

  function pollAll(): void {
    poll(followed.keys());
  }

  function stopPolling(): void {
    clearInterval(ticker);
    ticker = undefined;
    clearTimeout(lingering);
    lingering = setTimeout(unlisten, lingerMs).unref();
  }

  function unlisten(): void {
    stopListening?.();
    stopListening = undefined;
  }

  database.onCommit(() => {
    if (touched.size === 0) return;
    const now = performance.now();
    const ready = [...touched.keys()];
    // Where transactions run concurrently, this commit may belong to another one.
    for (const [id, until] of touched) if (!database.dialect.hasRowLocks || now > until) touched.delete(id);
    setImmediate(poll, ready);
    for (const id of ready) eventLog.place(id);
    // Processes on an engine with one writer detect the commits of others themselves.
    if (database.dialect.hasRowLocks) context.runInAsyncScope(announcements.announce, undefined, ready);
  });

  const follower: LogFollower = {
    follow(applicationId, listener) {
      const entry = followed.getOrInsertComputed(applicationId, () => ({ listeners: new Set(), head: undefined }));
      entry.listeners.add(listener);
      context.runInAsyncScope(startPolling);
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size > 0 || followed.get(applicationId) !== entry) return;
        followed.delete(applicationId);
        if (followed.size === 0) stopPolling();
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
      poll([applicationId]);
      await promise;
      clearTimeout(timer);
      gone?.removeEventListener("abort", leave);
      stop();
    },

    touch(applicationId) {
      touched.set(applicationId, performance.now() + touchedMs);
    },

    close() {
      isClosed = true;
      announcements.close();
      stopPolling();
      clearTimeout(lingering);
      unlisten();
      followed.clear();
    },
  };
  return follower;
}

/** Notifies other processes that logs may have new events. A hint, which may be lost: they poll as well. */
interface Announcements {
  announce(applicationIds: Iterable<string>): void;
  /** @returns the applications that an announcement names; undefined for all */
  read(text: string): readonly string[] | undefined;
  close(): void;
}

const separator = " ";
/** PostgreSQL accepts 8,000. */
const bytesMax = 7_900;
const announcementRestMs = 25;

function createAnnouncements({
  database,
  log,
}: {
  readonly database: Pick<Database, "signal">;
  readonly log: Log;
}): Announcements {
  const waiting = new Set<string>();
  let isSending = false;
  let isClosed = false;
  let isFailing = false;

  async function sendWaiting(): Promise<void> {
    while (waiting.size > 0 && !isClosed) {
      const text = [...waiting].join(separator);
      waiting.clear();
      try {
        await database.signal(text.length > bytesMax ? "" : text);
        isFailing = false;
      } catch (err) {
        if (!isFailing && !isClosed) log.warn({ err }, "other processes could not be notified of new events");
        isFailing = true;
      }
      await sleep(announcementRestMs, undefined, { ref: false });
    }
    isSending = false;
  }

  return {
    announce(applicationIds) {
      for (const id of applicationIds) waiting.add(id);
      if (isSending || waiting.size === 0 || isClosed) return;
      isSending = true;
      void sendWaiting();
    },
    read: (text) => (text === "" ? undefined : text.split(separator)),
    close() {
      isClosed = true;
    },
  };
}
