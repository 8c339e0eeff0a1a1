import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { deleteEnded } from "../db/steps.ts";
import type { OperatorRow, OperatorSessionRow } from "../db/tables.ts";
import { digestSecret } from "../lib/secrets.ts";

export interface NewOperatorSession {
  readonly at: number;
  readonly expiresAt: number;
  /** The address and the browser that signed in. */
  readonly address?: string;
  readonly browser?: string;
  /** Whether the token is in a cookie. */
  readonly isCookie?: boolean;
}

/** Inserts an operator session, valid once the transaction commits; only the token's digest is stored. */
export async function insertOperatorSession(
  operatorId: string,
  token: string,
  { at, expiresAt, address = "", browser = "", isCookie = false }: NewOperatorSession,
  queries: Queries,
): Promise<void> {
  await queries
    .insertInto("operator_sessions")
    .values({
      digest: digestSecret(token),
      operator_id: operatorId,
      created_at: at,
      used_at: at,
      expires_at: expiresAt,
      proved_at: at,
      address,
      browser,
      is_cookie: isCookie ? 1 : 0,
    })
    .execute();
}

/** A session with its operator. */
export type OperatorOfSession = Pick<OperatorRow, "id" | "name" | "role" | "must_change_password"> &
  Pick<OperatorSessionRow, "created_at" | "used_at" | "expires_at" | "proved_at" | "is_cookie">;

/** The session of a token, even if it has expired. */
export async function findOperatorBySession(digest: string, queries: Queries): Promise<OperatorOfSession | undefined> {
  const [found] = await find(queries, { digest });
  return found;
}

/** Records that the operator has entered the password again. */
export async function updateOperatorSessionProved(digest: string, at: number, queries: Queries): Promise<void> {
  await queries.updateTable("operator_sessions").set({ proved_at: at }).where("digest", "=", digest).execute();
}

export async function updateOperatorSessionUsed(digest: string, at: number, queries: Queries): Promise<void> {
  await queries
    .updateTable("operator_sessions")
    .set({ used_at: at })
    .where("digest", "=", digest)
    .where("used_at", "<", at)
    .execute();
}

export async function deleteOperatorSession(digest: string, queries: Queries): Promise<void> {
  await queries.deleteFrom("operator_sessions").where("digest", "=", digest).execute();
}

/** Deletes all sessions of an operator except this one. */
export async function deleteOperatorSessions(
  operatorId: string,
  keptDigest: string | undefined,
  queries: Queries,
): Promise<void> {
  await queries
    .deleteFrom("operator_sessions")
    .where("operator_id", "=", operatorId)
    .where("digest", "<>", keptDigest ?? "")
    .execute();
}

/** Deletes expired sessions. */
export async function deleteExpiredOperatorSessions(
  now: number,
  { operatorIdleMs }: { readonly operatorIdleMs: number },
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  await deleteEnded("operator_sessions", sql`"expires_at" <= ${now}`, database, signal);
  await deleteEnded("operator_sessions", sql`"used_at" <= ${now - operatorIdleMs}`, database, signal);
}

const find = prepare<{ digest: string }, OperatorOfSession>((queries, parameter) =>
  queries
    .selectFrom("operator_sessions as session")
    .innerJoin("operators as operator", "operator.id", "session.operator_id")
    .where("session.digest", "=", parameter("digest"))
    .select(["operator.id", "operator.name", "operator.role", "operator.must_change_password"])
    .select(["session.created_at", "session.used_at", "session.expires_at", "session.proved_at", "session.is_cookie"]),
);
