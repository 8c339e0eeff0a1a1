import { sql } from "kysely";
import { countRows } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import type { Counted } from "../lib/counted.ts";
import { findUsage } from "../storage/usage.ts";

interface Totals {
  readonly devices: Counted;
  readonly users: Counted;
  readonly checkins: Counted;
  readonly files: number;
  readonly bytes: number;
}

/** Reads at most a thousand rows for each number; files are counted when they are stored. */
export async function findTotals(applicationId: string, queries: Queries): Promise<Totals> {
  const { files, bytes } = await findUsage(applicationId, queries);
  return {
    devices: await countRows(sql`from devices where application_id = ${applicationId}`, queries),
    users: await countRows(sql`from users where application_id = ${applicationId} and deleted_at is null`, queries),
    checkins: await countRows(sql`from checkins where application_id = ${applicationId}`, queries),
    files,
    bytes,
  };
}
