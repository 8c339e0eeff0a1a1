import type { Static } from "../../../server/src/contract/schema.ts";
import type { Operator } from "../../../server/src/operators/operators.contract.ts";
import type {
  CurrentSession,
  FoundSession,
  ListedOperatorSession,
  SessionPage,
  Session as SignedIn,
} from "../../../server/src/operators/operators.sessions.contract.ts";
import { CallError } from "../lib/call-error.ts";
import { type CallOptions, operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Role = Static<typeof Operator>["role"];
/** The session of this browser's cookie. */
export type Session = Static<typeof CurrentSession>;
export type ListedSession = Static<typeof ListedOperatorSession>;

export const signIn = operation<
  { name: string; password: string; cookie: true; isPersistent: boolean },
  Static<typeof SignedIn>
>("POST", "/sessions", ["name", "password", "cookie", "isPersistent"]);

const findSession = operation<object, Static<typeof FoundSession>>("GET", "/sessions/cookie", []);

/** @throws CallError AuthFailed without a session; the response is not an HTTP error, because browsers log those */
export async function getSession(options: CallOptions = {}): Promise<Session> {
  const { session } = await findSession({}, options);
  if (session === undefined) throw new CallError(401, { error: "AuthFailed", message: "You are not signed in." });
  return session;
}

export const signOut = operation<object, true>("DELETE", "/sessions/current", []);

/** Actions on an application or on operators require a recently entered password. */
export const provePassword = operation<{ password: string }, true>("POST", "/sessions/current/password", ["password"]);

export const listSessions = operation<PageParameters & { operatorId?: string }, Static<typeof SessionPage>>(
  "GET",
  "/sessions",
  ["pageSize", "pagingToken", "operatorId"],
);

export const endSession = operation<{ sessionId: string }, true>("DELETE", "/sessions/{sessionId}", ["sessionId"]);

/** Revokes all sessions of an operator; without an operator, all sessions of the caller except the current one. */
export const endSessions = operation<{ operatorId?: string }, true>("DELETE", "/sessions", ["operatorId"]);
