import { sql } from "kysely";
import { deleteOperatorSession } from "../auth/operator-sessions.ts";
import type { Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import { condition, equals, numberOrderBy } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { OperatorSessionRow } from "../db/tables.ts";
import { firstIdAt } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";

/** A session that an operator may see. The public `id` is derived from its digest, which is never returned. */
export type ListedSession = Omit<OperatorSessionRow, "digest"> & { readonly id: string };

/** The latest use and the expiry that make a session valid. */
export interface SessionValidity {
  readonly now: number;
  readonly usedAfter: number;
}

const listed = sql`digest as id, operator_id, created_at, used_at, expires_at, proved_at, address, browser, is_cookie`;

function isAlive(now: number, usedAfter: number) {
  return sql<boolean>`expires_at > ${now} and used_at > ${usedAfter}`;
}

/** Lists the valid sessions of an operator, newest first. */
export function listOperatorSessionPage(
  operatorId: string,
  { now, usedAfter }: SessionValidity,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<ListedSession>> {
  const scope = {
    shape: "operator sessions",
    from: sql`operator_sessions`,
    select: listed,
    tie: "digest",
    conditions: [
      equals("operator_id", operatorId),
      condition("alive", { now, usedAfter }, (parameter) => isAlive(parameter("now"), parameter("usedAfter"))),
    ],
  };
  return readPage(
    scopeStream<ListedSession>(scope, numberOrderBy("created_at", "digest"), true, queries),
    position,
    size,
  );
}

const countedMax = 1_000;

/** Counts the valid sessions of some operators, up to 1,000 each. */
export async function countOperatorSessions(
  operatorIds: readonly string[],
  { now, usedAfter }: SessionValidity,
  queries: Queries,
): Promise<ReadonlyMap<string, number>> {
  if (operatorIds.length === 0) return new Map();
  const statement = sql<{ id: string; sessions: number }>`
    select id, (
      select count(*) from (
        select 1 from operator_sessions
        where operator_id = operators.id and ${isAlive(now, usedAfter)}
        limit ${rowLimit(countedMax)}
      ) as live
    ) as sessions
    from operators where id in (${sql.join(operatorIds)})`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  return new Map(rows.map(({ id, sessions }) => [id, Number(sessions)]));
}

export function findOperatorSession(digest: string, queries: Queries): Promise<OperatorSessionRow | undefined> {
  return queries.selectFrom("operator_sessions").selectAll().where("digest", "=", digest).executeTakeFirst();
}

/**
 * Returns the public id of a session, derived from its creation and digest, so that sessions of earlier releases have
 * one. It reveals nothing of the token, which is random.
 */
export function sessionIdOf(digest: string, createdAt: number): string {
  return `${firstIdAt("OperatorSession", createdAt)}${digest.slice(0, digestDigits)}`;
}

/** The number of random digits in ids of other kinds. */
const digestDigits = 17;

/** Deletes a session of the operator. @returns false if the operator has no session with this id */
export async function deleteOperatorSessionById(id: string, operatorId: string, queries: Queries): Promise<boolean> {
  const rows = await queries
    .selectFrom("operator_sessions")
    .select(["digest", "created_at"])
    .where("operator_id", "=", operatorId)
    .execute();
  const found = rows.find(({ digest, created_at }) => sessionIdOf(digest, created_at) === id);
  if (found !== undefined) await deleteOperatorSession(found.digest, queries);
  return found !== undefined;
}
