import { sql } from "kysely";
import type { Caller } from "../contract/route.ts";
import type { Queries } from "../db/database.ts";
import { listLengthMax, padList } from "../db/search/list-lengths.ts";

/**
 * Finds callers whose token was revoked after its issue, or whose session has no unexpired token. Renewing a token does
 * not revoke it: its session continues.
 *
 * @param callers of one application
 */
export async function findEndedTokens(
  applicationId: string,
  callers: readonly Caller[],
  now: number,
  queries: Queries,
): Promise<ReadonlySet<Caller>> {
  const ended = new Set<Caller>();
  const ofTokens = [...Map.groupBy(callers, tokenOf).values()]; // several streams may share one token
  for (let from = 0; from < ofTokens.length; from += listLengthMax) {
    const step = ofTokens.slice(from, from + listLengthMax).flat();
    const isAlive = await readStates(applicationId, step, now, queries);
    for (const caller of step) if (!isAlive(caller)) ended.add(caller);
  }
  return ended;
}

function tokenOf({ applicationKeyId, deviceId, userId, tokenId }: Caller): string {
  return `${applicationKeyId} ${deviceId} ${userId} ${tokenId}`;
}

async function readStates(
  applicationId: string,
  callers: readonly Caller[],
  now: number,
  queries: Queries,
): Promise<(caller: Caller) => boolean> {
  const users = callers.filter(({ userId }) => userId !== undefined);
  const userIds = distinct(users.map(({ userId = "" }) => userId));
  const [application, keys, devices, foundUsers, sessions] = await Promise.all([
    queries
      .selectFrom("applications")
      .select("token_version")
      .where("application_id", "=", applicationId)
      .where("deleted_at", "is", null)
      .executeTakeFirst(),
    queries
      .selectFrom("application_keys")
      .select(["id", "token_version"])
      .where("application_id", "=", applicationId)
      .where("id", "in", distinct(callers.map(({ applicationKeyId }) => applicationKeyId)))
      .execute(),
    queries
      .selectFrom("devices")
      .select(["id", "token_version"])
      .where("application_id", "=", applicationId)
      .where("id", "in", distinct(callers.map(({ deviceId }) => deviceId)))
      .execute(),
    queries
      .selectFrom("users")
      .select(["id", "token_version", "disabled_at"])
      .where("application_id", "=", applicationId)
      .where("id", "in", userIds)
      .execute(),
    queries
      .selectFrom("user_tokens")
      .select(["user_id", "id", "user_version"])
      .where("application_id", "=", applicationId)
      .where("user_id", "in", userIds)
      .where("expires_at", ">", now)
      // An expression, because SQLite would look up every pair of a user and a token in the index.
      .where(sql<string>`coalesce(id, '')`, "in", distinct(users.map(({ tokenId }) => tokenId)))
      .execute(),
  ]);
  const keyVersions = new Map(keys.map((row) => [row.id, row.token_version]));
  const deviceVersions = new Map(devices.map((row) => [row.id, row.token_version]));
  const userVersions = new Map(
    foundUsers.filter((row) => row.disabled_at === null).map((row) => [row.id, row.token_version]),
  );
  const sessionVersions = new Map(sessions.map((row) => [`${row.user_id} ${row.id}`, row.user_version]));
  return ({ versions, applicationKeyId, deviceId, userId, tokenId }) => {
    if (application?.token_version !== versions.application) return false;
    if (keyVersions.get(applicationKeyId) !== versions.key || deviceVersions.get(deviceId) !== versions.device) {
      return false;
    }
    if (userId === undefined) return true;
    const version = userVersions.get(userId);
    return version !== undefined && sessionVersions.get(`${userId} ${tokenId}`) === version;
  };
}

/** Returns at least one id; the empty string matches none. */
function distinct(ids: readonly string[]): readonly string[] {
  return padList(ids.length === 0 ? [""] : [...new Set(ids)]);
}
