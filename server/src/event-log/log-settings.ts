import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { isForeignKeyViolation } from "../db/dialect.ts";
import type { EventLogRow } from "../db/tables.ts";
import { eventTypes } from "./event-types.ts";
import { newLogName } from "./heads.store.ts";

/** The events that an application records (spec/events#recording); defaults apply where a member is absent. */
export interface LogSettings {
  readonly record?: EventLogRow["recording"];
  readonly retentionDays?: number;
  /** Patterns. */
  readonly types?: readonly string[];
}

export const dayMs = 86_400_000;
export const defaultLogSettings = { record: "wanted", retentionDays: 7, types: ["*"] } as const;
/** `wanted_until` of a log that always records. */
const forever = Number.MAX_SAFE_INTEGER;

/** The patterns that match no type. */
export function unknownPatterns(patterns: readonly string[]): readonly string[] {
  return patterns.filter((pattern) => !eventTypes.some((type) => marksOf(type).includes(pattern.toLowerCase())));
}

/** The patterns that match a type. */
function marksOf(type: string): readonly string[] {
  return ["*", `${type.split(".", 1)[0]}.*`, type];
}

/** Whether a log with these patterns, as stored, records events of a type. */
export function isRecorded(types: string, type: string): boolean {
  return types === "" || marksOf(type).some((mark) => types.includes(`,${mark},`));
}

/** Whether the settings are stored with the log, or both are absent. */
export async function hasLogSettings(
  applicationId: string,
  settings: LogSettings | undefined,
  queries: Queries,
): Promise<boolean> {
  const found = await queries
    .selectFrom("event_logs")
    .select(["recording", "types", "retention_days"])
    .where("application_id", "=", applicationId)
    .executeTakeFirst();
  if (found === undefined) return settings === undefined;
  const { recording, types, retention_days } = storedSettings(settings);
  return found.recording === recording && found.types === types && found.retention_days === retention_days;
}

/**
 * Stores the settings with the log, where writes read them. Must run in the transaction that changes them; without
 * settings, no log is created.
 */
export async function updateLogSettings(
  applicationId: string,
  settings: LogSettings | undefined,
  now: number,
  { dialect }: Pick<Database, "dialect">,
  queries: Queries,
): Promise<void> {
  if (await hasLogSettings(applicationId, settings, queries)) return;
  const { recording, types, retention_days } = storedSettings(settings);
  const wantedUntil = recording === "always" ? forever : 0;
  const isComplete = dialect.runningWriters === undefined ? 1 : 0;
  const begins = recording === "always" ? sql`event_logs.wanted_until <= ${now}` : sql`1 = 0`;
  await sql`
    insert into event_logs
      (application_id, name, wanted_until, is_complete, dropped_to, recording, types, retention_days)
    values (${applicationId}, ${newLogName()}, ${wantedUntil}, ${isComplete}, 0, ${recording}, ${types}, ${retention_days})
    on conflict (application_id) do update set
      name = case when ${begins} then excluded.name else event_logs.name end,
      is_complete = case when ${begins} then excluded.is_complete else event_logs.is_complete end,
      wanted_until = case
        when excluded.recording <> 'wanted' then excluded.wanted_until
        when event_logs.wanted_until = ${forever} then ${now + retention_days * dayMs}
        else event_logs.wanted_until end,
      recording = excluded.recording, types = excluded.types, retention_days = excluded.retention_days`
    .execute(queries)
    .catch((error) => {
      if (!isForeignKeyViolation(error)) throw error; // the application has been erased
    });
}

function storedSettings(settings: LogSettings = {}): Pick<EventLogRow, "recording" | "types" | "retention_days"> {
  const { record, retentionDays, types } = { ...defaultLogSettings, ...settings };
  const patterns = [...new Set(types.map((pattern) => pattern.toLowerCase()))];
  return {
    recording: record,
    types: patterns.includes("*") ? "" : `,${patterns.join()},`,
    retention_days: retentionDays,
  };
}
