import { AsyncResource } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { compilable, prepare } from "../db/prepared.ts";
import { createSharedRuns } from "../lib/shared-runs.ts";

/** The number of positions that one transaction assigns. */
export const rowsPerTurn = 1_000;
/** The time for which one call assigns positions; more remain only after a backlog. */
const settleMsMax = 200;

/** The pause before positions are assigned in the background, so that one transaction does it for many writes. */
const restMs = 100;
/** The longest pause while another process, or a session, holds the log. */
const restMsMax = 1_000;
/** The time for which a backlog delays the answer to a write. */
const delayMsMax = 100;

/** Assigns positions to the events of committed writes. */
export interface Positions {
  /** Resolves when every event that was committed before the call has its position, or after a bounded time. */
  settle(applicationId: string): Promise<void>;
  /** Assigns positions in the background, unless another process does; a failure is left to the next call. */
  place(applicationId: string): void;
  /** Resolves when a backlog of the log has its positions, or after 100 ms; undefined if there is none. */
  waitForBacklog(applicationId: string): Promise<void> | undefined;
  /** Ends the work in the background. */
  close(): void;
}

/**
 * On PostgreSQL, numbers become visible in another order than they were generated. Positions are therefore assigned
 * after the commit, in the order of the numbers, under a lock of the log: an event that becomes visible later is placed
 * behind the others. Writers of one object generate their numbers one after the other, so its events keep their order.
 */
export function createPositions({ database }: { readonly database: Database }): Positions {
  const share = createSharedRuns<void>();
  /** Applications with work in the background; true if there were commits since its latest turn began. */
  const placing = new Map<string, boolean>();
  /** Applications of which a turn was full, until one is not. */
  const backlogs = new Map<string, PromiseWithResolvers<void>>();
  // The work in the background must not run inside of a transaction of the call that started it.
  const outside = new AsyncResource("Positions");
  let isClosed = false;

  async function settleAll(applicationId: string): Promise<void> {
    const endsAt = performance.now() + settleMsMax;
    do {
      if ((await takeTurn(applicationId, { isPatient: true })) !== "full") return;
    } while (performance.now() < endsAt);
    place(applicationId);
  }

  async function takeTurn(applicationId: string, options: { readonly isPatient: boolean }): Promise<Turn> {
    let turn: Turn | undefined;
    if (placing.has(applicationId)) placing.set(applicationId, false);
    try {
      turn = await database.write(({ queries }) => settleSome(applicationId, options, database, queries));
    } finally {
      if (turn === undefined && placing.has(applicationId)) placing.set(applicationId, true);
      if (turn === "full") backlogs.getOrInsertComputed(applicationId, () => Promise.withResolvers());
      else endBacklog(applicationId);
    }
    return turn;
  }

  function endBacklog(applicationId: string): void {
    backlogs.get(applicationId)?.resolve();
    backlogs.delete(applicationId);
  }

  function place(applicationId: string): void {
    if (isClosed) return;
    const isRunning = placing.has(applicationId);
    placing.set(applicationId, true);
    if (isRunning) return;
    outside.runInAsyncScope(placeUntilDone, undefined, applicationId).catch(() => {
      placing.delete(applicationId); // readers, later commits and the watch try again
    });
  }

  async function placeUntilDone(applicationId: string): Promise<void> {
    let pauseMs = restMs;
    while (placing.get(applicationId) === true && !isClosed) {
      if (!backlogs.has(applicationId)) await sleep(pauseMs, undefined, { ref: false });
      if (placing.get(applicationId) === false) break; // a reader's turn has begun since the latest commit
      const turn = await takeTurn(applicationId, { isPatient: false });
      if (turn !== "done") placing.set(applicationId, true);
      pauseMs = turn === "locked" ? Math.min(restMsMax, 2 * pauseMs) : restMs;
    }
    placing.delete(applicationId);
  }

  return {
    async settle(applicationId) {
      if (!database.dialect.hasRowLocks) return; // writes assign them
      if (!(await isWaiting(applicationId, database.reads))) return;
      // Outside of a transaction of the caller, which would lock the log until its end.
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

/** Whether a transaction assigned the positions of all waiting events, or of as many as it may, or left them to others. */
type Turn = "done" | "full" | "locked";

/** @param options `isPatient`: waits for a transaction that has locked the log */
async function settleSome(
  applicationId: string,
  { isPatient }: { readonly isPatient: boolean },
  { dialect }: Database,
  queries: Queries,
): Promise<Turn> {
  if (isPatient) await lockLog(applicationId, { dialect }, queries);
  else if (!(await tryLockLog(applicationId, { dialect }, queries))) return "locked";
  if (dialect.planAgain !== undefined) await dialect.planAgain.execute(queries);
  const { numAffectedRows } = await sql`
    update events set position = placed.position
    from (
      select waiting.number, start.position + row_number() over (order by waiting.number) as position
      from (
        select number from events where application_id = ${applicationId} and position is null
        order by number limit ${rowsPerTurn}
      ) as waiting, (
        select coalesce(
          (select max(position) from events where application_id = ${applicationId}),
          (select dropped_to from event_logs where application_id = ${applicationId}), 0) as position
      ) as start
    ) as placed
    where events.application_id = ${applicationId} and events.number = placed.number`.execute(queries);
  return Number(numAffectedRows ?? 0) === rowsPerTurn ? "full" : "done";
}

/** Locks the log against other processes that assign or drop positions, until the transaction ends. */
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
