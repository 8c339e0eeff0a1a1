import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { compilable, prepare, prepareInsert } from "../db/prepared.ts";
import type { EventLogRow, EventRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { type Actor, currentCall } from "../lib/current-call.ts";
import { ApiError } from "../lib/errors.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { EventType } from "./event-types.ts";
import { rememberedMs } from "./log-heads.ts";
import { isRecorded } from "./log-settings.ts";
import { isRevocation, type RevokedSubject, revocationType } from "./revocations.ts";

/** An event before its log gives it a number. */
type NewEventRow = Omit<EventRow, "number" | "position">;

const columns = [
  ...(["application_id", "id", "type", "at", "object_id", "user_id"] as const),
  ...(["key", "slot", "changed", "was_shown", "is_shown", "item_id", "actor_kind", "actor_id"] as const),
] as const satisfies readonly (keyof NewEventRow)[];

/** Returns the patterns of the types that an application wants at a time; undefined if it wants no events. */
async function findWantedTypes(
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
async function insertUnnumbered(row: NewEventRow, queries: Queries): Promise<void> {
  await insertRow(queries, row);
}

const insertRow = prepareInsert<NewEventRow, unknown>((queries, parameter) =>
  compilable(
    sql`insert into events (${sql.join(columns.map((column) => sql.ref(column)))})
        values (${sql.join(columns.map((column) => sql`${parameter(column)}`))})`,
    queries,
  ),
);

/**
 * Inserts an event into an existing log, on an engine with one write transaction at a time: its number is its position.
 */
async function insertNumbered(row: NewEventRow, queries: Queries): Promise<void> {
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

/** A change by a write. */
export interface NewEvent {
  readonly type: EventType;
  /** The object that the event is about; for metadata, the object that carries it. */
  readonly objectId: string;
  readonly userId?: string | null;
  /** The member of the object that the event is about. */
  readonly itemId?: string;
  /** Of metadata; of an identity, the name of its provider. */
  readonly key?: string;
  readonly slot?: string;
  /** The names of changed fields as in results; a `-` at the end marks fields that only the owner sees. */
  readonly changed?: readonly string[];
  /** Whether other users could read the object before the write. */
  readonly wasShown?: boolean;
  /** The same after the write. */
  readonly isShown?: boolean;
  /** By default, the actor of the running call. */
  readonly actor?: Actor;
}

/** The event of an identity that a user gains or loses, shared by the nouns users and identities. */
export function identityEvent(what: "added" | "removed", userId: string, provider: string): NewEvent {
  return { type: `identity.${what}`, objectId: userId, userId, key: provider };
}

/** An event, or a revocation, which has no event type. */
type RecordedEvent = Omit<NewEvent, "type"> & { readonly type: string };

/** Writes events into the log, in the transactions of the writes. */
export interface EventRecorder {
  /**
   * Records events if the application wants them. Must run after the row of the object was written or locked, so that
   * the events of one object are in the order of its commits.
   */
  record(applicationId: string, events: NewEvent | readonly NewEvent[], queries: Queries): Promise<void>;
  /**
   * Records that tokens may have been revoked, regardless of the types of events that the application wants. Readers of
   * the log read it (`EventLog.listRevocations`), and close everything that those tokens have opened.
   */
  recordRevocation(applicationId: string, subject: RevokedSubject, queries: Queries): Promise<void>;
  /**
   * Must be called after a commit that changes the recording of an application; other processes detect the change
   * themselves.
   */
  forgetSettings(applicationId: string): void;
  /** The number of rows that this process has inserted, including those of transactions that failed afterwards. */
  readonly recordedCount: number;
}

/** Records nothing, for writes without events, such as those of a restore. */
export const noEvents: EventRecorder = {
  async record() {},
  async recordRevocation() {},
  forgetSettings() {},
  recordedCount: 0,
};

/**
 * Clocks of processes differ: a writer records for this much longer than a reader has requested, so that readers notice
 * the gap before it begins.
 */
const overlapMs = 3_600_000;

/** The number of applications for which a process caches whether they want events. */
const applicationsMax = 10_000;

/** @param touch runs for each recorded event, before its transaction is committed */
export function createEventRecorder({
  database: { dialect },
  clock,
  ids,
  touch,
}: {
  readonly database: Pick<Database, "dialect">;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly touch?: (applicationId: string) => void;
}): EventRecorder {
  /** The cached state of an application's log, and the time until which it is valid, by the clock of this process. */
  const cachedTypes = new LruMap<string, { readonly types: string | undefined; readonly until: number }>(
    applicationsMax,
  );

  let recordedCount = 0;

  /** @returns undefined if the application wants no events */
  async function wantedTypes(
    applicationId: string,
    wantedAfter: number,
    queries: Queries,
  ): Promise<string | undefined> {
    // An engine with one write transaction at a time reads the log itself: that is exact, and no round trip.
    if (!dialect.hasRowLocks) return findWantedTypes(applicationId, wantedAfter, queries);
    const now = performance.now();
    const answer = cachedTypes.get(applicationId);
    if (answer !== undefined && now < answer.until) return answer.types;
    const types = await findWantedTypes(applicationId, wantedAfter, queries);
    cachedTypes.set(applicationId, { types, until: now + rememberedMs });
    return types;
  }

  function rowOf(applicationId: string, event: RecordedEvent): NewEventRow {
    const { type, objectId, userId, itemId, key, slot, changed, wasShown, isShown } = event;
    const { actor = currentCall()?.actor } = event;
    return {
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
      item_id: itemId ?? null,
      actor_kind: actor?.kind ?? null,
      actor_id: actor?.id ?? null,
    };
  }

  async function insertWanted(
    applicationId: string,
    events: readonly RecordedEvent[],
    queries: Queries,
  ): Promise<void> {
    if (events.length === 0) return;
    try {
      const types = await wantedTypes(applicationId, clock.now() - overlapMs, queries);
      if (types === undefined) return; // true for most applications, so no row is built before
      for (const event of events) {
        if (!isRevocation(event) && !isRecorded(types, event.type)) continue;
        const row = rowOf(applicationId, event);
        await (dialect.hasRowLocks ? insertUnnumbered(row, queries) : insertNumbered(row, queries));
        recordedCount += 1;
        touch?.(applicationId);
      }
    } catch (error) {
      // The application was erased after the token was checked.
      throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
    }
  }

  return {
    get recordedCount() {
      return recordedCount;
    },
    forgetSettings: (applicationId) => cachedTypes.delete(applicationId),
    record: (applicationId, events, queries) => insertWanted(applicationId, [events].flat(), queries),
    recordRevocation(applicationId, { kind, id, exceptTokenId, revision }, queries) {
      const details = { ...(exceptTokenId && { key: exceptTokenId }), ...(revision && { slot: revision }) };
      return insertWanted(applicationId, [{ type: revocationType(kind), objectId: id, ...details }], queries);
    },
  };
}
