import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import { prepareLookup } from "../db/prepared.ts";
import type { EventLogRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { newLogName } from "./heads.store.ts";
import { dayMs, defaultLogSettings } from "./log-settings.ts";

/** The minimum interval at which readers extend the recording, so that they rarely write. */
const renewalMs = 3_600_000;
const pollMs = 10;
/**
 * How long a process caches whether an application wants events, on an engine where the query is a round trip: writes
 * without a reader then cost nothing. The first reader waits as long before it relies on the log.
 */
export const rememberedMs = 250;

interface HeadServices {
  readonly database: Database;
  readonly clock: Clock;
  readonly databaseTimeoutMs: number;
}

export const findHead = prepareLookup<{ applicationId: string }, EventLogRow>((queries, parameter) =>
  queries.selectFrom("event_logs").selectAll().where("application_id", "=", parameter("applicationId")),
);

/**
 * Returns the log of an application, which records from now on. If it did not before, renames the log and waits for
 * every running write that may not have recorded its events.
 *
 * @throws ApiError AuthAPICallDisabledByDeveloper when the application never records, AuthAccessTokenInvalid when it
 * has been erased
 */
export async function openLog(applicationId: string, services: HeadServices): Promise<EventLogRow> {
  const { database, clock } = services;
  const [found] = await findHead(database.reads, { applicationId });
  if (found?.recording === "never") throw new ApiError("AuthAPICallDisabledByDeveloper");
  const isWanted = found !== undefined && found.wanted_until > clock.now() + retentionMsOf(found) - renewalMs;
  if (isWanted && found.is_complete === 1) return found;
  // Outside of the caller's transaction, which would itself be one of the writes to wait for.
  return database.outsideTransaction(`event log of ${applicationId}`, () => completeLog(applicationId, services), {
    hasEffect: true,
  });
}

async function completeLog(applicationId: string, services: HeadServices): Promise<EventLogRow> {
  const { database, clock } = services;
  const log = await database.write(({ queries }) => wantLog(applicationId, clock.now(), database, queries));
  if (log.recording === "never") throw new ApiError("AuthAPICallDisabledByDeveloper");
  if (log.is_complete === 1) return log;
  await waitForWriters(services);
  await database.write(({ queries }) =>
    queries
      .updateTable("event_logs")
      .set({ is_complete: 1 })
      .where("application_id", "=", applicationId)
      .where("name", "=", log.name)
      .execute(),
  );
  return log;
}

/** How long events are stored, and recorded after the last reader. */
export function retentionMsOf({ retention_days }: Pick<EventLogRow, "retention_days">): number {
  return retention_days * dayMs;
}

/** Starts recording with the commit. A log that has stopped recording gets another name. */
async function wantLog(
  applicationId: string,
  now: number,
  { dialect }: Database,
  queries: Queries,
): Promise<EventLogRow> {
  const name = newLogName();
  const isComplete = dialect.runningWriters === undefined ? 1 : 0;
  const { rows } = await sql<EventLogRow>`
    insert into event_logs (application_id, name, wanted_until, is_complete, dropped_to)
    values (${applicationId}, ${name}, ${now + defaultLogSettings.retentionDays * dayMs}, ${isComplete}, 0)
    on conflict (application_id) do update set
      name = case when event_logs.wanted_until > ${now} then event_logs.name else excluded.name end,
      is_complete = case when event_logs.wanted_until > ${now} then event_logs.is_complete else excluded.is_complete end,
      wanted_until = case
        when event_logs.recording = 'wanted' then ${now} + event_logs.retention_days * ${dayMs}
        else event_logs.wanted_until end
    returning *`
    .execute(queries)
    .catch((error) => {
      throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
    });
  const [log] = rows;
  if (log === undefined) throw new Error("An upsert returns its row");
  return log;
}

/** Resolves when every current write transaction is over, at the latest after twice their time limit. */
async function waitForWriters({ database, databaseTimeoutMs }: HeadServices): Promise<void> {
  const { runningWriters } = database.dialect;
  if (runningWriters === undefined) return;
  const readIds = async () => (await runningWriters.execute(database.reads)).rows.map(({ id }) => id);
  const endsAt = performance.now() + 2 * databaseTimeoutMs;
  await sleep(rememberedMs); // from here on all writers record events
  const waitedFor = new Set(await readIds());
  while (waitedFor.size > 0 && performance.now() < endsAt) {
    await sleep(pollMs);
    const running = new Set(await readIds());
    for (const id of waitedFor) if (!running.has(id)) waitedFor.delete(id);
  }
}
