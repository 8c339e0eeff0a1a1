import { type RawBuilder, sql } from "kysely";
import { deviceUseMs } from "../auth/last-uses.ts";
import { withoutTestCallers } from "../auth/without-test-callers.ts";
import { countRows } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import { type Counted, counted, countMax } from "../lib/counted.ts";

const groupsMax = 20;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The scope of a revocation that an operator is about to perform. */
export type Subject = { readonly kind: "application" } | { readonly kind: "key" | "user"; readonly id: string };

export interface Impact {
  readonly devices: Counted;
  readonly userTokens: Counted;
  readonly hour: Counted;
  readonly day: Counted;
  /** The version is empty for devices that have reported none. */
  readonly appVersions: readonly { readonly appVersion: string; readonly count: number }[];
  readonly platforms: readonly { readonly platform: string; readonly count: number }[];
}

type Condition = RawBuilder<unknown>;

/** Counts what a revocation affects; reads at most `countMax` rows for each number. */
export async function findImpact(
  applicationId: string,
  subject: Subject,
  now: number,
  queries: Queries,
): Promise<Impact> {
  const devices = devicesOf(applicationId, subject, now);
  const seen = await listSeen(devices, now - dayMs - deviceUseMs, queries);
  const ofDay = seen.slice(0, countMax);
  return {
    devices: await countRows(devices, queries),
    userTokens: await countTokens(applicationId, subject, now, queries),
    hour: counted(seen.filter(({ last_seen_at }) => last_seen_at >= now - hourMs - deviceUseMs).length),
    day: counted(seen.length),
    appVersions: mostFrequent(ofDay.map(({ app_version }) => app_version ?? "")).map(([appVersion, count]) => ({
      appVersion,
      count,
    })),
    platforms: mostFrequent(ofDay.map(({ platform }) => platform)).map(([platform, count]) => ({ platform, count })),
  };
}

function devicesOf(applicationId: string, subject: Subject, now: number): Condition {
  const all = sql`from devices as device where device.application_id = ${applicationId}`;
  if (subject.kind === "application") return sql`${all} ${withoutTestCallers("devices", applicationId)}`;
  if (subject.kind === "key") return sql`${all} and device.key_id = ${subject.id}`;
  const tokens = sql`from user_tokens as token where ${validTokens(applicationId, now)} and token.user_id = ${subject.id}`;
  // With a condition `id in (…)`, SQLite would scan all devices by their last use.
  return sql`from (select distinct token.device_id as id ${tokens}) as held cross join devices as device
    where device.application_id = ${applicationId} and device.id = held.id`;
}

function validTokens(applicationId: string, now: number): Condition {
  return sql`token.application_id = ${applicationId} and token.expires_at > ${now} and token.user_version = (
    select token_version from users where application_id = ${applicationId} and id = token.user_id
  )`;
}

async function countTokens(applicationId: string, subject: Subject, now: number, queries: Queries): Promise<Counted> {
  const valid = validTokens(applicationId, now);
  if (subject.kind === "application") return countRows(sql`from user_tokens as token where ${valid}`, queries);
  if (subject.kind === "user") {
    return countRows(sql`from user_tokens as token where ${valid} and token.user_id = ${subject.id}`, queries);
  }
  // Limited to the latest devices, because a key may have a million devices without users.
  const latest = sql`select device.id from devices as device
    where device.application_id = ${applicationId} and device.key_id = ${subject.id}
    order by device.registered_at desc limit ${sql.lit(countMax)}`;
  const tokens = await countRows(
    sql`from (${latest}) as latest join user_tokens as token on token.device_id = latest.id where ${valid}`,
    queries,
  );
  const devices = await countRows(devicesOf(applicationId, subject, now), queries);
  return { count: tokens.count, isMore: tokens.isMore || devices.isMore };
}

interface Seen {
  readonly app_version: string | null;
  readonly platform: string;
  readonly last_seen_at: number;
}

async function listSeen(devices: Condition, since: number, queries: Queries): Promise<readonly Seen[]> {
  const statement = sql<Seen>`
    select device.app_version, device.platform, device.last_seen_at ${devices} and device.last_seen_at >= ${since}
    order by device.last_seen_at desc limit ${sql.lit(countMax + 1)}`;
  return (await queries.executeQuery(statement.compile(queries))).rows;
}

/** Counts the occurrences of each string, most frequent first. */
function mostFrequent(texts: readonly string[]): [text: string, count: number][] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, groupsMax);
}
