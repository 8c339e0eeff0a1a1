import { AsyncResource } from "node:async_hooks";
import { sql } from "kysely";
import type { Config } from "../config/config.ts";
import type { Database, Queries } from "../db/database.ts";
import { condition, equals, type Order } from "../db/search/conditions.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { Stream, Taken } from "../db/search/stream.ts";
import { yieldWork } from "../lib/call-work.ts";
import type { Clock } from "../lib/clock.ts";
import type { Secrets } from "../lib/secret-ring.ts";
import { createSharedRuns } from "../lib/shared-runs.ts";
import { type Backlog, createBacklogs, dropBacklog, listWaiting, measureBacklog } from "./backlog.store.ts";
import { type Cursor, type Cursors, createCursors } from "./cursors.ts";
import { findHead, openLog, retentionMsOf } from "./log-heads.ts";
import {
  dropOldEvents,
  findLogEnd,
  listEvents,
  listRevocations,
  msPerRead,
  type PlacedEvent,
  rowsPerRead,
  rowsPerReadStep,
} from "./log-rows.store.ts";
import { createPositions, rowsPerTransaction } from "./positions.ts";
import type { Revocation } from "./revocations.ts";

export type LogGap = "expired" | "log";

/** The event log of an application, as readers see it (spec/events). */
export interface EventLog extends Cursors {
  /** The end of the log, after every write that was answered before the call; the log records events from then on. */
  findEnd(applicationId: string): Promise<Cursor>;
  /** The same for a call outside of transactions: concurrent calls share what they read. */
  findSharedEnd(applicationId: string): Promise<Cursor>;
  /** Assigns positions to every event that was committed before the call; does not start recording. */
  settle(applicationId: string): Promise<void>;
  /** Assigns positions soon to the events that this process has committed. */
  place(applicationId: string): void;
  /**
   * Resolves when the backlog of events without a position is processed, after 100 ms at most; undefined without a
   * backlog.
   */
  waitForBacklog(applicationId: string): Promise<void> | undefined;
  /** The events that match, newest first. A bounded search: see `logStream`. */
  search(applicationId: string, fits: (event: PlacedEvent) => boolean): Stream<PlacedEvent>;
  /** The event or revocation at a position; undefined if it has been dropped, or does not exist yet. */
  find(applicationId: string, position: number): Promise<PlacedEvent | undefined>;
  /**
   * Why the log lacks events between a cursor and its end: `expired` if events have been dropped, `log` if the cursor
   * belongs to another log; undefined if nothing is missing.
   */
  findGap(applicationId: string, cursor: Cursor, end: Cursor): Promise<LogGap | undefined>;
  /** The same for a call outside of transactions: calls with cursors at one position share what they read. */
  findSharedGap(applicationId: string, cursor: Cursor, end: Cursor): Promise<LogGap | undefined>;
  /** Events and revocations after a position, in order; see `isRevocation`. */
  list(applicationId: string, after: number, count: number): Promise<readonly PlacedEvent[]>;
  /**
   * The revocations of all committed writes after a position, in no order. A reader reads the objects of a page, calls
   * this with a position from before that read, and then sends them: so nothing that was written after a revocation
   * reaches its subject.
   */
  listRevocations(applicationId: string, after: number): Promise<readonly Revocation[]>;
  /** Assigns positions to events whose process has died; `measures` also updates `backlog`. */
  placeAbandoned(options: { readonly measures: boolean }): Promise<void>;
  /**
   * Assigns positions to the rest of the events, and drops expired events, in bounded steps.
   *
   * @returns the number of events dropped because there were too many without a position (spec/events#retention)
   */
  maintain(applicationId: string, signal?: AbortSignal): Promise<number>;
  /** The events without a position, as of the last measurement; empty unless this process measures. */
  backlog(): Backlog;
  /** Stops assigning positions in the background. */
  close(): void;
}

export function createEventLog(
  {
    databaseTimeoutMs,
    eventsRowsMax,
    eventsBacklogMax,
  }: Pick<Config, "databaseTimeoutMs" | "eventsRowsMax" | "eventsBacklogMax">,
  { database, clock, secrets }: { readonly database: Database; readonly clock: Clock; readonly secrets: Secrets },
): EventLog {
  const positions = createPositions({ database });
  const backlogs = createBacklogs();

  const shareEnd = createSharedRuns<Cursor>();
  const shareRows = createSharedRuns<readonly PlacedEvent[]>();
  // A shared read must not run in a transaction of one of its callers.
  const outside = new AsyncResource("EventLog");

  async function findEnd(applicationId: string): Promise<Cursor> {
    const { name } = await openLog(applicationId, { database, clock, databaseTimeoutMs });
    await positions.settle(applicationId);
    return { log: name, ...(await findLogEnd(applicationId, database.reads)) };
  }

  /** Lists the event at a position, if it exists, and the next one. */
  function listFrom(applicationId: string, position: number): Promise<readonly PlacedEvent[]> {
    return listEvents(applicationId, position - 1, 2, database.reads);
  }

  /** @returns the number of dropped events */
  async function settleBacklog(applicationId: string, signal: AbortSignal | undefined): Promise<number> {
    if (!database.dialect.hasRowLocks) return 0; // writes assign positions
    const backlog = await measureBacklog(applicationId, eventsBacklogMax, database.reads);
    backlogs.note(applicationId, backlog);
    if (backlog.rows > eventsBacklogMax) return dropBacklog(applicationId, database);
    for (let left = backlog.rows; left > 0; left -= rowsPerTransaction) {
      signal?.throwIfAborted();
      await positions.settle(applicationId);
    }
    return 0;
  }

  return {
    ...createCursors({ secrets }),

    findEnd,
    findSharedEnd: (applicationId) =>
      shareEnd(applicationId, () => outside.runInAsyncScope(findEnd, undefined, applicationId)),
    findGap: (applicationId, cursor, end) => gapBetween(cursor, end, () => listFrom(applicationId, cursor.position)),
    findSharedGap: (applicationId, cursor, end) =>
      gapBetween(cursor, end, () =>
        shareRows(`${applicationId} ${cursor.position}`, () =>
          outside.runInAsyncScope(listFrom, undefined, applicationId, cursor.position),
        ),
      ),

    settle: (applicationId) => positions.settle(applicationId),
    place(applicationId) {
      if (database.dialect.hasRowLocks) positions.place(applicationId); // else writes assign them
    },
    waitForBacklog: positions.waitForBacklog,
    async placeAbandoned({ measures }) {
      const found = await listWaiting(database.reads);
      for (const applicationId of found) positions.place(applicationId);
      if (!measures) return;
      for (const applicationId of new Set([...found, ...backlogs.applicationIds()])) {
        backlogs.note(applicationId, await measureBacklog(applicationId, eventsBacklogMax, database.reads));
      }
    },
    search: (applicationId, fits) => logStream(applicationId, fits, database.reads),
    async find(applicationId, position) {
      const [event] = await listEvents(applicationId, position - 1, 1, database.reads);
      return event?.position === position ? event : undefined;
    },

    list: (applicationId, after, count) => listEvents(applicationId, after, count, database.reads),

    listRevocations: (applicationId, after) => listRevocations(applicationId, after, database.reads),

    async maintain(applicationId, signal) {
      const [head] = await findHead(database.reads, { applicationId });
      if (head === undefined) return 0;
      const dropped = await settleBacklog(applicationId, signal);
      const limits = { before: clock.now() - retentionMsOf(head), rowsMax: eventsRowsMax };
      await dropOldEvents(applicationId, limits, database, signal);
      return dropped;
    },

    backlog: () => backlogs.total(),
    close: positions.close,
  };
}

/** @param listFrom lists the event at the position of the cursor, if it exists, and the next one */
async function gapBetween(
  cursor: Cursor,
  end: Cursor,
  listFrom: () => Promise<readonly PlacedEvent[]>,
): Promise<LogGap | undefined> {
  if (cursor.log !== end.log || cursor.position > end.position) return "log";
  const isAtEnd = cursor.position === end.position;
  const [first, second] = isAtEnd ? [end] : await listFrom();
  const isThere = first?.position === cursor.position;
  if (isThere && cursor.id !== "" && first.id !== "" && !first.id.endsWith(cursor.id)) return "log";
  const next = isThere ? second : first;
  return isAtEnd || next?.position === cursor.position + 1 ? undefined : "expired";
}

/**
 * The events of a log that match, newest first. The log has no index but its order, so a search reads a bounded part of
 * it, and reports where it stopped.
 */
function logStream(
  applicationId: string,
  fits: (event: PlacedEvent) => boolean,
  queries: Queries,
): Stream<PlacedEvent> {
  const scope = {
    ...{ shape: "log of events", from: sql`events`, select: sql`events.*` },
    conditions: [equals("application_id", applicationId), hasPosition],
  };
  const rows = scopeStream<PlacedEvent>(scope, byPosition, true, queries);
  const endsAt = performance.now() + msPerRead;
  let examined = 0;
  return {
    ...rows,
    async take(take, work) {
      const found: PlacedEvent[] = [];
      let { bound } = take;
      for (;;) {
        const chunk = await rows.take({ ...take, bound, count: rowsPerReadStep }, work);
        found.push(...chunk.rows.filter(fits));
        examined += chunk.rows.length;
        if (found.length >= take.count) return { rows: found.slice(0, take.count) };
        const last = chunk.rows.at(-1);
        if (last === undefined || chunk.rows.length < rowsPerReadStep)
          return { rows: found } satisfies Taken<PlacedEvent>;
        const key = rows.keyOf(last);
        if (examined >= rowsPerRead || performance.now() > endsAt) return { rows: found, reached: key };
        bound = { side: take.direction === "forward" ? "after" : "before", key };
        await yieldWork(work);
      }
    },
  };
}

const hasPosition = condition("placed", {}, () => sql`position is not null`);

const byPosition: Order<PlacedEvent> = {
  shape: "position",
  columns: [sql.ref("position")],
  keyOf: ({ position }) => [position],
};
