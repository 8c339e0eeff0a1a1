import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { unboundedStatement } from "../db/dialect.ts";
import { newLogName } from "./heads.store.ts";
import { lockLog } from "./positions.ts";

/** Events of committed writes that have no position yet. */
export interface Backlog {
  readonly rows: number;
  /** When the oldest was written; undefined for an empty backlog. */
  readonly oldestAt: number | undefined;
}

/** The number of applications that one query for waiting events returns. */
const applicationsPerLook = 100;

/** Lists applications with events that have no position yet. */
export async function listWaiting(queries: Queries): Promise<readonly string[]> {
  const found: string[] = [];
  // One look-up for each application, because a backlog may have a million rows.
  while (found.length < applicationsPerLook) {
    const { rows } = await sql<{ application_id: string }>`
      select application_id from events where position is null and application_id > ${found.at(-1) ?? ""}
      order by application_id, number limit 1`.execute(queries);
    const [next] = rows;
    if (next === undefined) break;
    found.push(next.application_id);
  }
  return found;
}

/** @param rowsMax stops counting above this number */
export async function measureBacklog(applicationId: string, rowsMax: number, queries: Queries): Promise<Backlog> {
  const { rows } = await sql<{ rows: number | string; oldest_at: number | string | null }>`
    select count(*) as rows, min(at) as oldest_at from (
      select at from events where application_id = ${applicationId} and position is null
      order by number limit ${rowsMax + 1}
    ) as waiting`.execute(queries);
  const [measured] = rows;
  const oldest = measured?.oldest_at ?? null;
  return { rows: Number(measured?.rows ?? 0), oldestAt: oldest === null ? undefined : Number(oldest) };
}

/**
 * Drops the events that have no position, and renames the log, so that every cursor is reset. Both in one transaction,
 * which may take longer than others: a reader must not see the new name before the rows are deleted.
 */
export async function dropBacklog(applicationId: string, database: Database): Promise<number> {
  return database.write(async ({ queries }) => {
    await sql.raw(unboundedStatement).execute(queries);
    await lockLog(applicationId, database, queries);
    const { numAffectedRows } = await sql`
      delete from events where application_id = ${applicationId} and position is null`.execute(queries);
    await sql`update event_logs set name = ${newLogName()} where application_id = ${applicationId}`.execute(queries);
    return Number(numAffectedRows ?? 0);
  });
}

/** A measurement is outdated after this time, because another process may have taken over. */
const staleMs = 30_000;

/** The latest measurements of this process, by application. */
interface Backlogs {
  note(applicationId: string, backlog: Backlog): void;
  /** The applications with a backlog at their latest measurement. */
  applicationIds(): Iterable<string>;
  /** The sum over all applications. */
  total(): Backlog;
}

export function createBacklogs(): Backlogs {
  const measures = new Map<string, Backlog & { readonly measuredAt: number }>();
  return {
    note(applicationId, backlog) {
      if (backlog.rows === 0) measures.delete(applicationId);
      else measures.set(applicationId, { ...backlog, measuredAt: performance.now() });
    },
    applicationIds: () => measures.keys(),
    total() {
      const fresh = [...measures.values()].filter(({ measuredAt }) => performance.now() - measuredAt < staleMs);
      const times = fresh.flatMap(({ oldestAt }) => (oldestAt === undefined ? [] : [oldestAt]));
      return {
        rows: fresh.reduce((sum, { rows }) => sum + rows, 0),
        oldestAt: times.length === 0 ? undefined : Math.min(...times),
      };
    },
  };
}
