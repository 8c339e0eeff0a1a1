import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { compilable, prepare } from "../db/prepared.ts";
import type { EventLogRow, EventRow } from "../db/tables.ts";

/** An event before its log gives it a number. */
export type NewEventRow = Omit<EventRow, "number" | "position">;

const columns = [
  ...(["application_id", "id", "type", "at", "object_id", "user_id"] as const),
  ...(["key", "slot", "changed", "was_shown", "is_shown", "item_id", "actor_kind", "actor_id"] as const),
] as const satisfies readonly (keyof NewEventRow)[];

/** The patterns of the types that an application wants at a time; undefined if it wants no events. */
export async function findWantedTypes(
  applicationId: string,
  wantedAfter: number,
  queries: Queries,
): Promise<string | undefined> {
  const [log] = await findLog(queries, { applicationId });
  return log !== undefined && log.wanted_until > wantedAfter ? log.types : undefined;
}

const findLog = prepare<{ applicationId: string }, Pick<EventLogRow, "wanted_until" | "types">>((queries, parameter) =>
  queries
    .selectFrom("event_logs")
    .select(["wanted_until", "types"])
    .where("application_id", "=", parameter("applicationId")),
);

/** Inserts an event, which an identity column numbers. */
export async function insertUnnumbered(row: NewEventRow, queries: Queries): Promise<void> {
  await insertRow(queries, row);
}

const insertRow = prepare<NewEventRow, unknown>(
  (queries, parameter) =>
    compilable(
      sql`insert into events (${sql.join(columns.map((column) => sql.ref(column)))})
        values (${sql.join(columns.map((column) => sql`${parameter(column)}`))})`,
      queries,
    ),
  { isAddition: true },
);

/**
 * Inserts an event into a log that is there, on an engine with one write transaction at a time: its number is its
 * position.
 */
export async function insertNumbered(row: NewEventRow, queries: Queries): Promise<void> {
  await insertNext(queries, row);
}

const insertNext = prepare<NewEventRow, unknown>((queries, parameter) => {
  const number = nextNumber(parameter("application_id"));
  const others = columns.slice(1);
  const values = others.map((column) => sql`${parameter(column)}`);
  return compilable(
    sql`
      insert into events (application_id, number, position, ${sql.join(others.map((column) => sql.ref(column)))})
      select log.application_id, ${number}, ${number}, ${sql.join(values)}
      from event_logs as log
      where log.application_id = ${parameter("application_id")}`,
    queries,
  );
});

function nextNumber(applicationId: unknown): RawBuilder<number> {
  return sql<number>`1 + coalesce(
    (select max(event.number) from events as event where event.application_id = ${applicationId}), log.dropped_to)`;
}
