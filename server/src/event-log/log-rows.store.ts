import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { inSteps, rowsPerStep } from "../db/steps.ts";
import type { EventRow } from "../db/tables.ts";
import { lockLog } from "./positions.ts";
import { type Revocation, toRevocation } from "./revocations.ts";

/** The maximum that one call reads of a log (spec/events#read-events). */
export const rowsPerRead = 10_000;
export const msPerRead = 200;
export const rowsPerReadStep = 500;

/** An event with a position. */
export type PlacedEvent = EventRow & { readonly position: number };

/** The position of a reader in a log: after the event with this id; the id is empty if it is unknown. */
export interface LogPosition {
  readonly position: number;
  readonly id: string;
}

/** The end of the log. */
export async function findLogEnd(applicationId: string, queries: Queries): Promise<LogPosition> {
  const [newest] = await findNewest(queries, { applicationId });
  if (newest !== undefined) return newest;
  const [log] = await findDropped(queries, { applicationId });
  return { position: log?.dropped_to ?? 0, id: "" };
}

/** The events after a position, in the order of the log. */
export function listEvents(
  applicationId: string,
  after: number,
  count: number,
  queries: Queries,
): Promise<PlacedEvent[]> {
  return listAfter(queries, { applicationId, after, count });
}

/** The id of the event at a position; undefined if it has been dropped, or does not exist yet. */
export async function findEventId(
  applicationId: string,
  position: number,
  queries: Queries,
): Promise<string | undefined> {
  return (await findAt(queries, { applicationId, position }))[0]?.id;
}

/** The revocations after a position, and those without one. */
export async function listRevocations(applicationId: string, after: number, queries: Queries): Promise<Revocation[]> {
  return (await findRevocations(queries, { applicationId, after })).map(toRevocation);
}

/** Drops events older than a time, and the oldest beyond a number of rows, in bounded steps. */
export async function dropOldEvents(
  applicationId: string,
  { before, rowsMax }: { readonly before: number; readonly rowsMax: number },
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const isKept = ({ at, position }: PlacedEvent, end: number) => at >= before && position > end - rowsMax;
  const [oldest] = await listEvents(applicationId, 0, 1, database.reads);
  if (oldest === undefined) return;
  if (isKept(oldest, (await findLogEnd(applicationId, database.reads)).position)) return;
  await inSteps(database, signal, async (queries) => {
    await lockLog(applicationId, database, queries);
    const { position: end } = await findLogEnd(applicationId, queries);
    const found = await listEvents(applicationId, 0, rowsPerStep, queries);
    const kept = found.findIndex((event) => isKept(event, end));
    const doomed = kept === -1 ? found : found.slice(0, kept);
    const last = doomed.at(-1);
    if (last === undefined) return 0;
    await sql`delete from events where application_id = ${applicationId} and position <= ${last.position}`.execute(
      queries,
    );
    await sql`update event_logs set dropped_to = ${last.position} where application_id = ${applicationId}`.execute(
      queries,
    );
    return doomed.length;
  });
}

interface OfApplication {
  readonly applicationId: string;
}

const findNewest = prepare<OfApplication, LogPosition>((queries, parameter) =>
  queries
    .selectFrom("events")
    .select(["position", "id"])
    .$narrowType<{ position: number }>()
    .where("application_id", "=", parameter("applicationId"))
    .where("position", "is not", null)
    .orderBy("position", "desc")
    .limit(1),
);

const findDropped = prepare<OfApplication, { dropped_to: number }>((queries, parameter) =>
  queries.selectFrom("event_logs").select("dropped_to").where("application_id", "=", parameter("applicationId")),
);

const listAfter = prepare<OfApplication & { after: number; count: number }, PlacedEvent>((queries, parameter) =>
  queries
    .selectFrom("events")
    .selectAll()
    .$narrowType<{ position: number }>()
    .where("application_id", "=", parameter("applicationId"))
    .where("position", ">", parameter("after"))
    .orderBy("position")
    .limit(rowLimit(parameter("count"))),
);

const findRevocations = prepare<OfApplication & { after: number }, EventRow>((queries, parameter) =>
  queries
    .selectFrom("events")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("position", ">", parameter("after"))
    .where("type", "like", "revocation.%")
    .unionAll(
      queries
        .selectFrom("events")
        .selectAll()
        .where("application_id", "=", parameter("applicationId"))
        .where("position", "is", null)
        .where("type", "like", "revocation.%"),
    ),
);

const findAt = prepare<OfApplication & { position: number }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("events")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("position", "=", parameter("position")),
);
