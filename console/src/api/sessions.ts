import type { Static } from "../../../server/src/contract/schema.ts";
import type { Operator } from "../../../server/src/operators/operators.contract.ts";
import type {
  CurrentSession,
  ListedOperatorSession,
  SessionPage,
  Session as SignedIn,
} from "../../../server/src/operators/operators.sessions.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Role = Static<typeof Operator>["role"];
/** The session of this browser's cookie. */
export type Session = Static<typeof CurrentSession>;
export type ListedSession = Static<typeof ListedOperatorSession>;

export const signIn = operation<
  { name: string; password: string; cookie: true; isPersistent: boolean },
  Static<typeof SignedIn>
>("POST", "/sessions", ["name", "password", "cookie", "isPersistent"]);

export const getSession = operation<object, Session>("GET", "/sessions/current", []);

export const signOut = operation<object, true>("DELETE", "/sessions/current", []);

/** Actions on a whole application and on operators require a password that was entered recently. */
export const provePassword = operation<{ password: string }, true>("POST", "/sessions/current/password", ["password"]);

export const listSessions = operation<PageParameters & { operatorId?: string }, Static<typeof SessionPage>>(
  "GET",
  "/sessions",
  ["pageSize", "pagingToken", "operatorId"],
);

export const endSession = operation<{ sessionId: string }, true>("DELETE", "/sessions/{sessionId}", ["sessionId"]);

/** Ends all sessions of an operator; without one, all of the caller's sessions but the current one. */
export const endSessions = operation<{ operatorId?: string }, true>("DELETE", "/sessions", ["operatorId"]);
