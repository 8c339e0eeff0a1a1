import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { condition, equals, isAbove, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { type Scope, scopeStream } from "../db/search/scope.ts";
import type { Stream } from "../db/search/stream.ts";
import { deleteEnded } from "../db/steps.ts";
import type { NewUserTokenRow, UserTokenRow } from "../db/tables.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { storeLastUses, type UseStatements } from "./last-uses.ts";

/** Makes a user token valid once the transaction commits. */
export async function insertUserToken(row: NewUserTokenRow, queries: Queries): Promise<void> {
  await insert(queries, row);
}

/** A live user token, with the platform of its device. */
export type ListedToken = UserTokenRow & { readonly platform: string };

/** A page of the user's valid tokens, newest first. */
export function listUserTokens(
  applicationId: string,
  userId: string,
  now: number,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<ListedToken>> {
  return readPage(userTokensStream(applicationId, userId, now, queries), position, size, work);
}

/** The user's valid tokens, newest first. */
export function userTokensStream(
  applicationId: string,
  userId: string,
  now: number,
  queries: Queries,
): Stream<ListedToken> {
  const scope: Scope = {
    shape: "user tokens",
    from: sql`user_tokens as token
      join devices as device on device.application_id = token.application_id and device.id = token.device_id`,
    select: sql`token.*, device.platform`,
    conditions: [
      equals("token.application_id", applicationId),
      equals("token.user_id", userId),
      isAbove("token.expires_at", now),
      condition("is good", {}, (parameter) => isGood(parameter("token.application_id"))),
    ],
  };
  return scopeStream(scope, byId, true, queries);
}

function isGood(application: unknown) {
  return sql`token.user_version = (
    select token_version from users where application_id = ${application} and id = token.user_id
  )`;
}

/** The order of the primary key; ids sort by creation. */
const byId: Order<ListedToken> = {
  shape: "id",
  columns: [sql.ref("token.user_id"), sql.ref("token.id")],
  keyOf: ({ user_id, id }) => [user_id, id],
};

/** The last use of a token. */
export interface TokenUse {
  readonly applicationId: string;
  readonly userId: string;
  readonly tokenId: string;
  readonly usedAt: number;
}

export async function updateUserTokenUses(uses: readonly TokenUse[], statements: UseStatements): Promise<void> {
  await storeLastUses(
    { name: "user_tokens", time: "last_used_at", key: ["user_id", "id"] },
    uses.map(({ applicationId, userId, tokenId, usedAt }) => ({ applicationId, key: [userId, tokenId], at: usedAt })),
    statements,
  );
}

/**
 * The session of a token: when the user signed in for it, and when its newest token expires. @returns undefined when it
 * does not exist
 */
export function findSession(
  { applicationId, userId, tokenId }: Omit<TokenUse, "usedAt">,
  queries: Queries,
): Promise<{ readonly created_at: number; readonly expires_at: number } | undefined> {
  return queries
    .selectFrom("user_tokens")
    .select(["created_at", "expires_at"])
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("id", "=", tokenId)
    .executeTakeFirst();
}

/** Deletes the rows of expired tokens. */
export async function deleteExpiredUserTokens(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  await deleteEnded("user_tokens", sql`"expires_at" < ${now}`, database, signal);
}

const insert = prepare<NewUserTokenRow, unknown>((queries, parameter) =>
  queries.insertInto("user_tokens").values({
    application_id: parameter("application_id"),
    user_id: parameter("user_id"),
    id: parameter("id"),
    device_id: parameter("device_id"),
    user_version: parameter("user_version"),
    created_at: parameter("created_at"),
    last_used_at: parameter("last_used_at"),
    expires_at: parameter("expires_at"),
  }),
);
