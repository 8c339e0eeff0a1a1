// Written by "npm run docs" from docs/openapi.operators.json.
import type { Call } from "../wire/call.ts";
import { define } from "../wire/define.ts";
import type { CreateOperatorSessionRequest, CurrentOperatorSession, EndOperatorSessionsQuery, FoundOperatorSession, ListOperatorSessionsQuery, ListedOperatorSessionPage, OperatorSession, ProveOperatorPasswordRequest } from "./admin.ts";

/**
 * Sign in as an operator
 *
 * Answers with the token of a new session, or sets it as a cookie for the console. After too many wrong passwords, attempts are RateLimitExceeded.
 */
export const createOperatorSession: (fields: CreateOperatorSessionRequest) => Call<OperatorSession> = /* @__PURE__ */ define("createOperatorSession", "POST /_/api/sessions", "aps");

/**
 * List the own sessions, newest first
 *
 * Lists those that have not ended. Owners list the sessions of any operator.
 */
export const listOperatorSessions: (fields?: ListOperatorSessionsQuery) => Call<ListedOperatorSessionPage> = /* @__PURE__ */ define("listOperatorSessions", "GET /_/api/sessions", "os");

/**
 * End all own sessions except this one
 *
 * With `operatorId`, owners end all sessions of that operator.
 */
export const endOperatorSessions: (fields?: EndOperatorSessionsQuery) => Call<void> = /* @__PURE__ */ define("endOperatorSessions", "DELETE /_/api/sessions", "ops");

/**
 * Read this session
 *
 * Answers with the operator, the end of the session, and the deployment.
 */
export const getOperatorSession: () => Call<CurrentOperatorSession> = /* @__PURE__ */ define("getOperatorSession", "GET /_/api/sessions/current", "os");

/**
 * Sign out: end this session
 *
 * Ends the token of the call, and clears its cookie.
 */
export const deleteOperatorSession: () => Call<void> = /* @__PURE__ */ define("deleteOperatorSession", "DELETE /_/api/sessions/current", "ops");

/**
 * Read the session of this browser, if there is one
 *
 * For the console, whose header is required. Answers without `session` if the call has no session cookie, or one whose session has ended.
 */
export const findOperatorSession: () => Call<FoundOperatorSession> = /* @__PURE__ */ define("findOperatorSession", "GET /_/api/sessions/cookie", "as");

/**
 * End one of the own sessions
 *
 * A session of another operator does not exist for the caller.
 */
export const endOperatorSession: (sessionId: string) => Call<void> = /* @__PURE__ */ define("endOperatorSession", "DELETE /_/api/sessions/{sessionId}", "ops");

/**
 * Give the password again, for operations that ask for a recent one
 *
 * Counts for ten minutes, as signing in does.
 */
export const proveOperatorPassword: (fields: ProveOperatorPasswordRequest) => Call<void> = /* @__PURE__ */ define("proveOperatorPassword", "POST /_/api/sessions/current/password", "ops");
