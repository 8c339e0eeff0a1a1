import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";

/** The number of positions that one transaction assigns. */
export const rowsPerTurn = 1_000;
/** The time for which one call assigns positions; more remain only after a backlog. */
const settleMsMax = 200;

/** Assigns positions to the events of committed writes. */
export interface Positions {
  /** Resolves when every event that was committed before the call has its position, or after a bounded time. */
  settle(applicationId: string): Promise<void>;
}

/**
 * On PostgreSQL, numbers become visible in another order than they were generated. Readers therefore assign positions,
 * in the order of the numbers, under a lock of the log: an event that becomes visible later is placed behind the
 * others. Writers of one object generate their numbers one after the other, so its events keep their order.
 */
export function createPositions({ database }: { readonly database: Database }): Positions {
  const turns = new Map<string, { readonly running: Promise<void>; next?: Promise<void> }>();

  /** Starts a run, or one after the current run, which may have read before the latest commit. */
  function share(applicationId: string): Promise<void> {
    const turn = turns.get(applicationId);
    if (turn === undefined) return begin(applicationId);
    turn.next ??= turn.running.catch(() => {}).then(() => begin(applicationId));
    return turn.next;
  }

  function begin(applicationId: string): Promise<void> {
    const running = settleAll(applicationId, database).finally(() => {
      if (turns.get(applicationId)?.running === running) turns.delete(applicationId);
    });
    turns.set(applicationId, { running });
    return running;
  }

  return {
    async settle(applicationId) {
      if (!database.dialect.hasRowLocks) return; // writes assign them
      if (!(await isWaiting(applicationId, database.reads))) return;
      // Outside of a transaction of the caller, which would lock the log until its end.
      await database.apart(`event positions of ${applicationId}`, () => share(applicationId), { hasEffect: true });
    },
  };
}

async function isWaiting(applicationId: string, queries: Queries): Promise<boolean> {
  const { rows } = await sql`
    select 1 from events where application_id = ${applicationId} and position is null limit 1`.execute(queries);
  return rows.length > 0;
}

async function settleAll(applicationId: string, database: Database): Promise<void> {
  const endsAt = performance.now() + settleMsMax;
  let settled: number;
  do {
    settled = await database.write(({ queries }) => settleSome(applicationId, database, queries));
  } while (settled === rowsPerTurn && performance.now() < endsAt);
}

async function settleSome(applicationId: string, { dialect }: Database, queries: Queries): Promise<number> {
  await lockLog(applicationId, { dialect }, queries);
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
  return Number(numAffectedRows ?? 0);
}

/** Locks the log against other processes that assign or drop positions, until the transaction ends. */
export async function lockLog(
  applicationId: string,
  { dialect }: Pick<Database, "dialect">,
  queries: Queries,
): Promise<void> {
  await sql`select 1 from event_logs where application_id = ${applicationId} ${dialect.forUpdate}`.execute(queries);
}
