import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { compilable, prepareShapes } from "../db/prepared.ts";
import type { EventRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { EventType } from "./event-types.ts";
import { unwantedMs } from "./log-heads.ts";

/** What a write changed. */
export interface NewEvent {
  readonly type: EventType;
  /** The object that the event is about; for metadata, the object that carries it. */
  readonly objectId: string;
  readonly userId?: string | null;
  readonly key?: string;
  readonly slot?: string;
  /** The names of changed fields as in results; those that only the owner sees end with `-`. */
  readonly changed?: readonly string[];
  /** Whether other users could read the object before the write. */
  readonly wasShown?: boolean;
  /** The same after the write. */
  readonly isShown?: boolean;
}

/** Writes events into the log, in the transactions of their writes. */
export interface EventRecorder {
  /**
   * Records events if the application wants them. Must run after the row of the object was written or locked, so that
   * the events of one object have the order of its commits.
   */
  record(applicationId: string, events: NewEvent | readonly NewEvent[], queries: Queries): Promise<void>;
}

/**
 * Clocks of processes differ: a writer records this much longer than the log is wanted, so that readers notice the gap
 * before it begins.
 */
const overlapMs = 3_600_000;

/** Applications of which a process remembers that they want no events. */
const applicationsMax = 10_000;

const runShape = prepareShapes();

export function createEventRecorder({
  database,
  clock,
  ids,
}: {
  readonly database: Pick<Database, "dialect">;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): EventRecorder {
  async function insert(applicationId: string, event: NewEvent, queries: Queries): Promise<boolean> {
    const { type, objectId, userId, key, slot, changed, wasShown, isShown } = event;
    const values: Omit<EventRow, "number" | "position"> & { wantedAfter: number } = {
      application_id: applicationId,
      id: ids.newId("Event"),
      type,
      at: clock.now(),
      object_id: objectId,
      user_id: userId ?? null,
      key: key ?? null,
      slot: slot ?? null,
      changed: (changed ?? []).join(),
      was_shown: wasShown === true ? 1 : 0,
      is_shown: isShown === true ? 1 : 0,
      wantedAfter: clock.now() - overlapMs,
    };
    const shape = database.dialect.hasRowLocks ? "unnumbered" : "numbered";
    const inserted = await runShape<{ id: string }>(queries, shape, values, (parameter) => {
      const number = nextNumber(parameter("application_id"));
      return compilable(
        sql<{ id: string }>`
          insert into events (application_id, ${shape === "numbered" ? sql`number, position, ` : sql``}
            id, type, at, object_id, user_id, key, slot, changed, was_shown, is_shown)
          select log.application_id, ${shape === "numbered" ? sql`${number}, ${number}, ` : sql``}
            cast(${parameter("id")} as text), cast(${parameter("type")} as text), cast(${parameter("at")} as bigint),
            cast(${parameter("object_id")} as text), cast(${parameter("user_id")} as text),
            cast(${parameter("key")} as text), cast(${parameter("slot")} as text),
            cast(${parameter("changed")} as text), cast(${parameter("was_shown")} as bigint),
            cast(${parameter("is_shown")} as bigint)
          from event_logs as log
          where log.application_id = ${parameter("application_id")}
            and log.wanted_until > cast(${parameter("wantedAfter")} as bigint)
          returning id`,
        queries,
      );
    });
    return inserted.length > 0;
  }

  /** Until when an application is known to want no events, by the time of this process. */
  const unwantedUntil = new LruMap<string, number>(applicationsMax);

  return {
    async record(applicationId, events, queries) {
      const [first, ...others] = [events].flat();
      const now = performance.now();
      if (first === undefined || now < (unwantedUntil.get(applicationId) ?? 0)) return;
      try {
        if (!(await insert(applicationId, first, queries))) {
          if (database.dialect.hasRowLocks) unwantedUntil.set(applicationId, now + unwantedMs);
          return;
        }
        for (const event of others) await insert(applicationId, event, queries);
      } catch (error) {
        // The application was erased after the token was checked.
        throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
      }
    },
  };
}

/** On an engine with one write transaction at a time the number is the position. */
function nextNumber(applicationId: unknown): RawBuilder<number> {
  return sql<number>`1 + coalesce(
    (select max(event.number) from events as event where event.application_id = ${applicationId}), log.dropped_to)`;
}
