import { sql } from "kysely";
import type { Queries } from "./database.ts";

/**
 * No lease is given for so long, nor do clocks differ by so much. One that ends later was given by a clock that was wrong, and
 * would be there until that time has come.
 */
export const leaseMsMax = 3_600_000;

/** Whether somebody has it. */
export function isHeld(endsAt: number, now: number): boolean {
  return endsAt > now && endsAt <= now + leaseMsMax;
}

export interface Lease {
  /** What is done by one process at a time. */
  readonly name: string;
  readonly holder: string;
}

/** Gives a lease back that nobody, its holder neither, is to take before `nextAt`; not one that another has taken since. */
export async function endLease({ name, holder }: Lease, nextAt: number, queries: Queries): Promise<void> {
  await sql`update leases set holder = '', ends_at = ${nextAt} where name = ${name} and holder = ${holder}`.execute(
    queries,
  );
}

/**
 * Takes a lease that nobody has, or has any longer; or gives one's own another end. Times are those of the processes'
 * clocks: where they differ, a lease ends earlier or later by so much, unless that is more than can be (see `isHeld`).
 *
 * @returns false while another has it
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
