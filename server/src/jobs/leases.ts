import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import type { Clock } from "../lib/clock.ts";

/**
 * The upper bound of a lease and of the clock skew between processes. A lease that expires later was taken by a process
 * with a wrong clock; without the bound, it would block other processes until then.
 */
export const leaseMsMax = 3_600_000;

export function isHeld(endsAt: number, now: number): boolean {
  return endsAt > now && endsAt <= now + leaseMsMax;
}

interface Lease {
  /** The name of work that only one process may do at a time. */
  readonly name: string;
  readonly holder: string;
}

/** How the runs of a job share a lease. */
export interface LeaseTerms {
  /** The time after which another process takes over from a killed one. */
  readonly forMs: number;
  /**
   * The minimum time between the starts of two runs, in any process. Without it, a process keeps the lease between its
   * runs.
   */
  readonly restMs?: number;
}

export interface LeaseServices {
  readonly database: Database;
  readonly clock: Clock;
}

/** The lease of a job in this process. */
export interface JobLease {
  /**
   * Takes the lease, and renews it during the work. Aborts the round if another process has taken the lease.
   *
   * @returns false, without work, if another process holds the lease
   */
  hold(round: AbortController, work: () => Promise<unknown>): Promise<boolean>;
  /** Lets another process take the lease immediately. */
  release(): Promise<void>;
}

export function createLease(name: string, { forMs, restMs }: LeaseTerms, { database, clock }: LeaseServices): JobLease {
  const lease = { name, holder: randomUUID() };
  let isOurs = false;
  let takenAt = Number.NEGATIVE_INFINITY;

  async function take(): Promise<boolean> {
    takenAt = performance.now();
    const now = clock.now();
    isOurs = await database.write(({ queries }) => takeLease(lease, now, now + forMs, queries));
    return isOurs;
  }

  async function releaseUntil(nextAt: number): Promise<void> {
    if (!isOurs) return;
    isOurs = false;
    await database.write(({ queries }) => releaseLease(lease, nextAt, queries));
  }

  return {
    async hold(round, work) {
      const startedAt = clock.now();
      // The next attempt waits even if another process holds the lease, because each attempt costs a write.
      const isRecent = restMs === undefined && performance.now() - takenAt < forMs / 2;
      if (!(isRecent ? isOurs : await take())) return false;
      // A failed renewal is ignored, because the lease stays valid until the next one.
      const renewal = setInterval(
        () =>
          take().then(
            (isHeld) => isHeld || round.abort(),
            () => {},
          ),
        forMs / 3,
      );
      try {
        await work();
        return true;
      } finally {
        clearInterval(renewal);
        if (restMs !== undefined && !round.signal.aborted) await releaseUntil(startedAt + restMs);
      }
    },

    release: () => releaseUntil(clock.now()).catch(() => {}), // the lease expires anyway
  };
}

/**
 * Releases a lease, and prevents every process from taking it before `nextAt`. Does nothing if another process has
 * taken it.
 */
async function releaseLease({ name, holder }: Lease, nextAt: number, queries: Queries): Promise<void> {
  await sql`update leases set holder = '', ends_at = ${nextAt} where name = ${name} and holder = ${holder}`.execute(
    queries,
  );
}

/**
 * Takes a free or expired lease, or extends a lease of the same holder. Times come from the clocks of the processes:
 * with clock skew, a lease expires earlier or later, up to the bound of `isHeld`.
 *
 * @returns false if another process holds it
 */
export async function takeLease(
  { name, holder }: Lease,
  now: number,
  endsAt: number,
  queries: Queries,
): Promise<boolean> {
  const { rows } = await sql`
    insert into leases (name, holder, ends_at) values (${name}, ${holder}, ${endsAt})
    on conflict (name) do update set holder = excluded.holder, ends_at = excluded.ends_at
    where leases.ends_at <= ${now} or leases.ends_at > ${now + leaseMsMax} or leases.holder = excluded.holder
    returning name`.execute(queries);
  return rows.length > 0;
}
