import { sql } from "kysely";
import type { Queries } from "./database.ts";

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
 * clocks: where they differ, a lease ends earlier or later by so much.
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
    where leases.ends_at <= ${now} or leases.holder = excluded.holder
    returning name`.execute(queries);
  return rows.length > 0;
}
