import { setImmediate as nextTick } from "node:timers/promises";
import { sql } from "kysely";
import type { Config } from "../config/config.ts";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { deleteEnded } from "../db/steps.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { createRecounts } from "../lib/recounts.ts";

/** Stored responses of a caller, or of an application. */
export interface Usage {
  readonly bytes: number;
  readonly keys: number;
  /** When the first of them expire; undefined without responses. */
  readonly endsAt: number | undefined;
}

export const noUsage: Usage = { bytes: 0, keys: 0, endsAt: undefined };

export type UsageLimits = Pick<
  Config,
  | "idempotencyBytesPerCaller"
  | "idempotencyKeysPerCaller"
  | "idempotencyBytesPerApplication"
  | "idempotencyKeysPerApplication"
>;

const hourMs = 3_600_000;

/** The end of the hour in which a response expires: it counts until then. */
export function usageEnd(expiresAt: number): number {
  return Math.ceil(expiresAt / hourMs) * hourMs;
}

/** @throws ApiError RateLimitExceeded when a caller is above its limits, or at a limit with `isAboutToStore` */
export function requireCallerSpace(usage: Usage, isAboutToStore: boolean, limits: UsageLimits, now: number): void {
  const { idempotencyBytesPerCaller: bytes, idempotencyKeysPerCaller: keys } = limits;
  requireSpace(usage, { noun: "caller", variable: "CALLER", bytes, keys }, isAboutToStore, now);
}

/** The used part of an application's limit, as far as this process knows. */
export interface ApplicationUsage {
  /**
   * Checks that an application can store another response.
   *
   * @param own the stored responses of the caller
   * @throws ApiError RateLimitExceeded when the application has no space for a response of this size, or the caller has
   * used up its share
   */
  requireSpace(applicationId: string, own: Usage, bytes: number): void;
  /** Counts a response that this process has stored. */
  add(applicationId: string, bytes: number): void;
}

interface Figure {
  usage: Usage;
  /** The responses that this process has stored since the current count began. */
  since: Usage;
}

/** The pause between counts is a hundred times their duration, so that counting takes about 1 % of a process. */
const pauseFactor = 100;
const callersPerStep = 5_000;

/**
 * A counter row per application would serialize all its keyed calls on PostgreSQL, so an application's usage is the sum
 * over its callers, computed from time to time and cached in between. It is approximate: this process does not count
 * the responses that other processes store between two sums, or any from before its first sum.
 */
export function createApplicationUsage(services: {
  readonly database: Database;
  readonly clock: Clock;
  readonly limits: UsageLimits;
}): ApplicationUsage {
  const { database, clock, limits } = services;
  const figures = createRecounts<Figure>({
    clock,
    pauseFactor,
    create: () => ({ usage: noUsage, since: noUsage }),
    async recount(applicationId, figure) {
      figure.since = noUsage;
      figure.usage = plus(await sumUsage(applicationId, clock.now(), database.reads), figure.since);
    },
  });

  return {
    requireSpace(applicationId, own, bytes) {
      const { usage } = figures.find(applicationId);
      const { idempotencyBytesPerApplication, idempotencyKeysPerApplication } = limits;
      const limit = {
        noun: "application",
        variable: "APPLICATION",
        bytes: idempotencyBytesPerApplication,
        keys: idempotencyKeysPerApplication,
      };
      const now = clock.now();
      requireSpace(plus(usage, { bytes, keys: 0, endsAt: undefined }), limit, true, now);
      requireShare(own, bytes, usage, limits, now);
    },
    add(applicationId, bytes) {
      const figure = figures.find(applicationId);
      const added = { bytes, keys: 1, endsAt: undefined };
      figure.usage = plus(figure.usage, added);
      figure.since = plus(figure.since, added);
    },
  };
}

function plus(a: Usage, b: Usage): Usage {
  return { bytes: a.bytes + b.bytes, keys: a.keys + b.keys, endsAt: a.endsAt ?? b.endsAt };
}

interface Limit {
  readonly noun: string;
  readonly variable: string;
  readonly bytes: number;
  readonly keys: number;
}

/** @throws ApiError RateLimitExceeded */
function requireSpace(usage: Usage, limit: Limit, isAboutToStore: boolean, now: number): void {
  const more = isAboutToStore ? 1 : 0;
  const isOverKeys = usage.keys + more > limit.keys;
  if (!isOverKeys && usage.bytes + more <= limit.bytes) return;
  const [most, variable] = isOverKeys
    ? [`${limit.keys} idempotency keys in a day`, `IDEMPOTENCY_KEYS_PER_${limit.variable}`]
    : [`${limit.bytes} bytes of stored responses of idempotency keys`, `IDEMPOTENCY_BYTES_PER_${limit.variable}`];
  const message = `The ${limit.noun} may have at most ${most} (${variable}). The call was not carried out.`;
  throw new ApiError("RateLimitExceeded", message, { retryAfterSeconds: retryAfter(usage.endsAt, now) });
}

/**
 * Divides the unused part of an application's limit among its callers by dynamic thresholds: each caller may use its
 * complete limit while at least half of the application's limit is free, then less and less. So callers that store much
 * never exhaust the space of callers that store little (hostile.md 37), and callers need not be counted.
 *
 * @throws ApiError RateLimitExceeded
 */
function requireShare(own: Usage, bytes: number, all: Usage, limits: UsageLimits, now: number): void {
  const { idempotencyBytesPerCaller, idempotencyBytesPerApplication } = limits;
  const { idempotencyKeysPerCaller, idempotencyKeysPerApplication } = limits;
  const bytesShare = shareOf(idempotencyBytesPerCaller, idempotencyBytesPerApplication, all.bytes);
  const keysShare = shareOf(idempotencyKeysPerCaller, idempotencyKeysPerApplication, all.keys);
  // A share that is at least the caller's own limit needs no further check.
  const isOverKeys = keysShare < idempotencyKeysPerCaller && own.keys + 1 > keysShare;
  const isOverBytes = bytesShare < idempotencyBytesPerCaller && own.bytes + bytes > bytesShare;
  if (!isOverKeys && !isOverBytes) return;
  const [noun, variable] = isOverKeys
    ? ["idempotency keys", "IDEMPOTENCY_KEYS_PER_APPLICATION"]
    : ["stored responses of idempotency keys", "IDEMPOTENCY_BYTES_PER_APPLICATION"];
  const message = `The caller has its share of the room that the application has left for ${noun} (${variable}). The call was not carried out.`;
  throw new ApiError("RateLimitExceeded", message, { retryAfterSeconds: retryAfter(own.endsAt ?? all.endsAt, now) });
}

/** The share of one caller, given how much of the application's limit is used. */
function shareOf(callerMax: number, applicationMax: number, used: number): number {
  const free = Math.max(0, applicationMax - used);
  return Math.min(callerMax, Math.ceil(free * Math.min(1, (2 * callerMax) / applicationMax)));
}

function retryAfter(endsAt: number | undefined, now: number): number {
  return Math.ceil((endsAt === undefined ? hourMs : Math.max(endsAt - now, 1_000)) / 1_000);
}

/** Counts the stored responses of an application's callers, in steps between which other calls run. */
async function sumUsage(applicationId: string, now: number, queries: Queries): Promise<Usage> {
  let sum = noUsage;
  let after = { userId: "", deviceId: "", endsAt: 0 };
  for (;;) {
    const rows = await list(queries, { applicationId, ...after });
    for (const { bytes, keys, ends_at } of rows) {
      if (Number(ends_at) <= now) continue;
      const endsAt = Math.min(sum.endsAt ?? Number(ends_at), Number(ends_at));
      sum = { bytes: sum.bytes + Number(bytes), keys: sum.keys + Number(keys), endsAt };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < callersPerStep) return sum;
    after = { userId: last.user_id, deviceId: last.device_id, endsAt: Number(last.ends_at) };
    await nextTick();
  }
}

/** Deletes the counts of past hours, a bounded number of rows per transaction. */
export async function deleteEndedUsage(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  await deleteEnded("idempotency_usage", sql`"ends_at" <= ${now}`, database, signal);
}

interface Position {
  readonly applicationId: string;
  readonly userId: string;
  readonly deviceId: string;
  readonly endsAt: number;
}

interface UsageRow {
  readonly user_id: string;
  readonly device_id: string;
  readonly ends_at: number;
  readonly bytes: number;
  readonly keys: number;
}

const list = prepare<Position, UsageRow>((queries, parameter) =>
  queries
    .selectFrom("idempotency_usage")
    .select(["user_id", "device_id", "ends_at", "bytes", "keys"])
    .where("application_id", "=", parameter("applicationId"))
    .where(
      sql<boolean>`(user_id, device_id, ends_at) > (${parameter("userId")}, ${parameter("deviceId")}, ${parameter("endsAt")})`,
    )
    .orderBy("user_id")
    .orderBy("device_id")
    .orderBy("ends_at")
    .limit(callersPerStep),
);
