import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

/**
 * The upper bound of a lease and of the clock skew between processes. A lease that expires later was taken by a process
 * with a wrong clock; without the bound, it would block other processes until then.
 */
export const leaseMsMax = 3_600_000;

export function isHeld(endsAt: number, now: number): boolean {
  return endsAt > now && endsAt <= now + leaseMsMax;
}

export interface Lease {
  /** The name of work that only one process may do at a time. */
  readonly name: string;
  readonly holder: string;
}

/**
 * Releases a lease, and prevents every process from taking it before `nextAt`. Does nothing if another process has
 * taken it.
 */
export async function releaseLease({ name, holder }: Lease, nextAt: number, queries: Queries): Promise<void> {
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
