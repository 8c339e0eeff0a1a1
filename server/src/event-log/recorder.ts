import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { LruMap } from "../lib/lru-map.ts";
import type { EventType } from "./event-types.ts";
import { rememberedMs } from "./log-heads.ts";
import { insertNumbered, insertUnnumbered, isLogWanted, type NewEventRow } from "./recorder.store.ts";

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

/** Applications of which a process remembers whether they want events. */
const applicationsMax = 10_000;

export function createEventRecorder({
  database: { dialect },
  clock,
  ids,
}: {
  readonly database: Pick<Database, "dialect">;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): EventRecorder {
  /** What the log of an application said, and until when it is not asked again, by the time of this process. */
  const known = new LruMap<string, { readonly isWanted: boolean; readonly until: number }>(applicationsMax);

  async function isWanted(applicationId: string, wantedAfter: number, queries: Queries): Promise<boolean> {
    const now = performance.now();
    const answer = known.get(applicationId);
    if (answer !== undefined && now < answer.until) return answer.isWanted;
    const wanted = await isLogWanted(applicationId, wantedAfter, queries);
    known.set(applicationId, { isWanted: wanted, until: now + rememberedMs });
    return wanted;
  }

  function rowOf(applicationId: string, event: NewEvent): NewEventRow {
    const { type, objectId, userId, key, slot, changed, wasShown, isShown } = event;
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
    };
  }

  /** @returns false if the application wants no events */
  async function insert(row: NewEventRow, wantedAfter: number, queries: Queries): Promise<boolean> {
    if (!dialect.hasRowLocks) return insertNumbered(row, wantedAfter, queries);
    if (!(await isWanted(row.application_id, wantedAfter, queries))) return false;
    await insertUnnumbered(row, queries);
    return true;
  }

  return {
    async record(applicationId, events, queries) {
      const wantedAfter = clock.now() - overlapMs;
      try {
        for (const event of [events].flat()) {
          if (!(await insert(rowOf(applicationId, event), wantedAfter, queries))) return;
        }
      } catch (error) {
        // The application was erased after the token was checked.
        throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
      }
    },
  };
}
