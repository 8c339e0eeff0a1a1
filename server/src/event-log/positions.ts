import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { compilable, prepare } from "../db/prepared.ts";
import { createSharedRuns } from "../lib/shared-runs.ts";

/** The number of positions that one transaction assigns. */
export const rowsPerTransaction = 1_000;
/** The time limit for assigning positions in one call; only a backlog needs more. */
const settleMsMax = 200;

/** The pause before positions are assigned in the background, so that one transaction does it for many writes. */
const restMs = 100;
/** The longest pause while another process or session has locked the log. */
const restMsMax = 1_000;
/** The time for which a backlog delays the answer to a write. */
const delayMsMax = 100;

/** Assigns positions to the events of committed writes. */
export interface Positions {
  /** Resolves when every event that was committed before the call has its position, or after a bounded time. */
  settle(applicationId: string): Promise<void>;
  /** Assigns positions in the background, unless another process does; the next call retries after a failure. */
  place(applicationId: string): void;
  /** Resolves when the backlog of the log has its positions, or after 100 ms; undefined without a backlog. */
  waitForBacklog(applicationId: string): Promise<void> | undefined;
  /** Stops the work in the background. */
  close(): void;
}

/**
 * On PostgreSQL, numbers become visible in another order than they were generated. Positions are therefore assigned
 * after the commit, in the order of the numbers, under a lock of the log: an event that becomes visible later gets a
 * later position. Writers of one object generate their numbers one after the other, so its events stay in order.
 */
export function createPositions({ database }: { readonly database: Database }): Positions {
  const share = createSharedRuns<void>();
  /** Applications with work in the background; true if there were commits since its latest transaction began. */
  const placing = new Map<string, boolean>();
  /** Applications whose latest transaction reached its limit, which means a backlog. */
  const backlogs = new Map<string, PromiseWithResolvers<void>>();
  // The work in the background must not run in a transaction of the call that started it.
  const outside = new AsyncResource("Positions");
  let isClosed = false;

  async function settleAll(applicationId: string): Promise<void> {
    const endsAt = performance.now() + settleMsMax;
    do {
      if ((await settleChunk(applicationId, { isPatient: true })) !== "full") return;
    } while (performance.now() < endsAt);
    place(applicationId);
  }

  async function settleChunk(applicationId: string, options: { readonly isPatient: boolean }): Promise<ChunkOutcome> {
    let outcome: ChunkOutcome | undefined;
    if (placing.has(applicationId)) placing.set(applicationId, false);
    try {
      outcome = await database.write(({ queries }) => settleSome(applicationId, options, database, queries));
    } finally {
      if (outcome === undefined && placing.has(applicationId)) placing.set(applicationId, true);
      if (outcome === "full") backlogs.getOrInsertComputed(applicationId, () => Promise.withResolvers());
      else resolveBacklog(applicationId);
    }
    return outcome;
  }

  function resolveBacklog(applicationId: string): void {
    backlogs.get(applicationId)?.resolve();
    backlogs.delete(applicationId);
  }

  function place(applicationId: string): void {
    if (isClosed) return;
    const isRunning = placing.has(applicationId);
    placing.set(applicationId, true);
    if (isRunning) return;
    outside.runInAsyncScope(placeInBackground, undefined, applicationId).catch(() => {
      placing.delete(applicationId); // readers, later commits and the watch try again
    });
  }

  async function placeInBackground(applicationId: string): Promise<void> {
    let pauseMs = restMs;
    while (placing.get(applicationId) === true && !isClosed) {
      if (!backlogs.has(applicationId)) await sleep(pauseMs, undefined, { ref: false });
      if (placing.get(applicationId) === false) break; // a transaction for a reader has begun since the latest commit
      const outcome = await settleChunk(applicationId, { isPatient: false });
      if (outcome !== "done") placing.set(applicationId, true);
      pauseMs = outcome === "locked" ? Math.min(restMsMax, 2 * pauseMs) : restMs;
    }
    placing.delete(applicationId);
  }

  return {
    async settle(applicationId) {
      if (!database.dialect.hasRowLocks) return; // writes assign them
      if (!(await isWaiting(applicationId, database.reads))) return;
      // Outside of the caller's transaction, which would lock the log until it commits.
      const settleShared = () => share(applicationId, () => settleAll(applicationId));
      await database.outsideTransaction(`event positions of ${applicationId}`, settleShared, { hasEffect: true });
    },
    place,
    waitForBacklog(applicationId) {
      const backlog = backlogs.get(applicationId);
      return backlog && Promise.race([backlog.promise, sleep(delayMsMax, undefined, { ref: false })]);
    },
    close() {
      isClosed = true;
    },
  };
}

async function isWaiting(applicationId: string, queries: Queries): Promise<boolean> {
  return (await findWaiting(queries, { applicationId })).length > 0;
}

const findWaiting = prepare<{ applicationId: string }, unknown>((queries, parameter) =>
  compilable(
    sql`select 1 from events where application_id = ${parameter("applicationId")} and position is null limit 1`,
    queries,
  ),
);

/**
 * The outcome of a transaction: all waiting events have positions, it reached its limit, or another session has locked
 * the log.
 */
type ChunkOutcome = "done" | "full" | "locked";

/** @param options `isPatient`: waits for a transaction that has locked the log */
async function settleSome(
  applicationId: string,
  { isPatient }: { readonly isPatient: boolean },
  { dialect }: Database,
  queries: Queries,
): Promise<ChunkOutcome> {
  if (isPatient) await lockLog(applicationId, { dialect }, queries);
  else if (!(await tryLockLog(applicationId, { dialect }, queries))) return "locked";
  if (dialect.replan !== undefined) await dialect.replan.execute(queries);
  const { numAffectedRows } = await sql`
    update events set position = placed.position
    from (
      select waiting.number, start.position + row_number() over (order by waiting.number) as position
      from (
        select number from events where application_id = ${applicationId} and position is null
        order by number limit ${rowsPerTransaction}
      ) as waiting, (
        select coalesce(
          (select max(position) from events where application_id = ${applicationId}),
          (select dropped_to from event_logs where application_id = ${applicationId}), 0) as position
      ) as start
    ) as placed
    where events.application_id = ${applicationId} and events.number = placed.number`.execute(queries);
  return Number(numAffectedRows ?? 0) === rowsPerTransaction ? "full" : "done";
}

/** Locks the log for the transaction, against other processes that assign or drop positions. */
export async function lockLog(
  applicationId: string,
  { dialect }: Pick<Database, "dialect">,
  queries: Queries,
): Promise<void> {
  await sql`select 1 from event_logs where application_id = ${applicationId} ${dialect.forUpdate}`.execute(queries);
}

/** Locks the log unless another transaction has locked it. @returns whether it did */
async function tryLockLog(
  applicationId: string,
  { dialect }: Pick<Database, "dialect">,
  queries: Queries,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from event_logs where application_id = ${applicationId} ${dialect.forUpdate} skip locked`.execute(queries);
  return rows.length > 0;
}
