import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { compilable, prepare } from "../db/prepared.ts";
import { takeRandomBytes } from "../lib/random.ts";

/** The end of an application's log at one moment. */
export interface LogHead {
  /** Changes with every revocation in the application. */
  readonly revision: string;
  /** The name of the log; null without a log. */
  readonly log: string | null;
  readonly position: number;
  /** True if committed events have no position yet. */
  readonly isWaiting: boolean;
}

/** A statement reads one head, or this many. */
const headsPerStatement = 16;

/** Finds the heads of several logs; an erased application has none. */
export async function findHeads(
  applicationIds: readonly string[],
  queries: Queries,
): Promise<ReadonlyMap<string, LogHead>> {
  const heads = new Map<string, LogHead>();
  const steps = Math.ceil(applicationIds.length / headsPerStatement);
  const found = await Promise.all(
    Array.from({ length: steps }, (_, step) =>
      findSome(applicationIds.slice(step * headsPerStatement, (step + 1) * headsPerStatement), queries),
    ),
  );
  for (const { id, revision, log, position, waiting } of found.flat()) {
    heads.set(id, { revision, log, position: position ?? 0, isWaiting: waiting === 1 });
  }
  return heads;
}

interface FoundHead {
  readonly id: string;
  readonly revision: string;
  readonly log: string | null;
  readonly position: number | null;
  readonly waiting: number;
}

async function findSome(applicationIds: readonly string[], queries: Queries): Promise<FoundHead[]> {
  const [first = "", ...others] = applicationIds;
  if (others.length === 0) return findOne(queries, { id0: first });
  // A repeated row does no harm.
  return findMany(queries, Object.fromEntries(names.map((name, index) => [name, applicationIds[index] ?? first])));
}

type Ids = Readonly<Record<string, string>>;

const names = Array.from({ length: headsPerStatement }, (_, index) => `id${index}`);
const findOne = prepare<Ids, FoundHead>((queries, parameter) => compilable(headOf(parameter("id0")), queries));
const findMany = prepare<Ids, FoundHead>((queries, parameter) => {
  const heads = names.map((name) => headOf(parameter(name)));
  return compilable(sql`${sql.join(heads, sql` union all `)}`, queries);
});

/** Each subquery names its application, so that a distributed database asks one shard for it. */
function headOf(applicationId: unknown): RawBuilder<FoundHead> {
  return sql`
    select application.application_id as id, application.revision, log.name as log,
      coalesce((select max(position) from events where application_id = ${applicationId}), log.dropped_to) as position,
      case when exists (select 1 from events where application_id = ${applicationId} and position is null)
        then 1 else 0 end as waiting
    from applications as application
    left join event_logs as log on log.application_id = application.application_id
    where application.application_id = ${applicationId} and application.deleted_at is null`;
}

const nameBytes = 6;

/** Returns a name that no log has had: cursors with another name are reset. */
export function newLogName(): string {
  return takeRandomBytes(nameBytes).toString("base64url");
}
