import {
  deleteOperatorSession,
  deleteOperatorSessions,
  updateOperatorSessionProved,
} from "../auth/operator-sessions.ts";
import { build } from "../config/version.ts";
import type { OperatorCaller } from "../contract/route.ts";
import { type Static, Type } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { presentOperator } from "./operators.contract.ts";
import { requireCurrentPassword } from "./operators.current-password.ts";
import {
  CurrentSession,
  EndSessions,
  FoundSession,
  ListSessions,
  ProvePassword,
  presentSession,
  SessionPage,
  SessionPath,
} from "./operators.sessions.contract.ts";
import {
  deleteOperatorSessionById,
  findOperatorSession,
  listOperatorSessionPage,
  type SessionValidity,
  sessionIdOf,
} from "./operators.sessions.store.ts";
import { findOperator } from "./operators.store.ts";

const deleteSession = operation({
  method: "DELETE",
  path: "/_/api/sessions/current",
  operation: "deleteOperatorSession",
  summary: "Sign out: end this session",
  description: "Ends the token of the call, and clears its cookie.",
  tag: "Operators",
  caller: "operator",
  withFirstPassword: true,
  role: "viewer",
  status: 200,
  result: Type.Literal(true),
  errors: [],
  async handle({ caller, call }, { database, operatorSessionCookies }) {
    await database.write(({ queries }) => deleteOperatorSession(caller.sessionId, queries));
    if (call.authorization === undefined) operatorSessionCookies.clear(call.browser?.());
    return true as const;
  },
});

const getSession = operation({
  method: "GET",
  path: "/_/api/sessions/current",
  operation: "getOperatorSession",
  summary: "Read this session",
  description: "Answers with the operator, the end of the session, and the deployment.",
  tag: "Operators",
  caller: "operator",
  withFirstPassword: true,
  status: 200,
  result: CurrentSession,
  errors: [],
  async handle({ caller }, services) {
    const session = await readSession(caller, services);
    if (session === undefined) throw new ApiError("AuthFailed"); // revoked after the session check
    return session;
  },
});

/**
 * The console's first call. The console is never refused, because browsers log a refusal as an error of the page; any
 * other caller is, as by all operations of operators.
 */
const findSession = operation({
  method: "GET",
  path: "/_/api/sessions/cookie",
  operation: "findOperatorSession",
  summary: "Read the session of this browser, if there is one",
  description:
    "For the console, whose header is required. Answers without `session` if the call has no session cookie, or one whose session has ended.",
  tag: "Operators",
  caller: "anyone",
  isBatchable: false, // batches ignore cookies
  status: 200,
  result: FoundSession,
  errors: ["AuthFailed"],
  async handle({ call }, services) {
    const browser = call.browser?.();
    if (browser?.consoleCall === undefined) throw new ApiError("AuthFailed");
    const caller =
      call.authorization === undefined
        ? await services.operatorCallers.findByCookie({ browser, isDownload: false })
        : undefined;
    const session = caller && (await readSession(caller, services));
    return session === undefined ? {} : { session };
  },
});

async function readSession(
  { operatorId, sessionId }: OperatorCaller,
  { database, config, regions }: Services,
): Promise<Static<typeof CurrentSession> | undefined> {
  const [operator, session] = [
    await findOperator(operatorId, database.reads),
    await findOperatorSession(sessionId, database.reads),
  ];
  if (operator === undefined || session === undefined) return undefined;
  const { created_at, expires_at, proved_at } = session;
  const { operatorIdleMs, region, publicUrl } = config;
  return {
    id: sessionIdOf(sessionId, created_at),
    operator: presentOperator(operator),
    expires: formatDate(expires_at),
    idleMs: operatorIdleMs,
    created: formatDate(created_at),
    proved: formatDate(proved_at ?? created_at),
    deployment: {
      version: build,
      region,
      ...(regions.others.length > 0 && { otherRegions: [...regions.others] }),
      ...(publicUrl !== undefined && { publicUrl }),
    },
  };
}

const listSessions = operation({
  method: "GET",
  path: "/_/api/sessions",
  operation: "listOperatorSessions",
  summary: "List the own sessions, newest first",
  description: "Lists those that have not ended. Owners list the sessions of any operator.",
  tag: "Operators",
  caller: "operator",
  parameters: ListSessions,
  status: 200,
  result: SessionPage,
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, parameters, call }, { database, paging, config, clock }) {
    const request = await paging.read("operatorSessions", caller, parameters, call);
    const operatorId = await readSubject(caller, request.filters.operatorId, database.reads);
    const now = clock.now();
    const validity: SessionValidity = { now, usedAfter: now - config.operatorIdleMs };
    const page = await listOperatorSessionPage(operatorId, validity, request.position, request.size, database.reads);
    return paging.present("operatorSessions", caller, request, page, (row) => presentSession(row, caller.sessionId));
  },
});

const endSession = operation({
  method: "DELETE",
  path: "/_/api/sessions/{sessionId}",
  operation: "endOperatorSession",
  summary: "End one of the own sessions",
  description: "A session of another operator does not exist for the caller.",
  tag: "Operators",
  caller: "operator",
  role: "viewer",
  pathParameters: SessionPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { sessionId } }, { database }) {
    const isEnded = await database.write(({ queries }) =>
      deleteOperatorSessionById(sessionId, caller.operatorId, queries),
    );
    if (!isEnded) throw new ApiError("ItemDoesNotExist");
    return true as const;
  },
});

const endSessions = operation({
  method: "DELETE",
  path: "/_/api/sessions",
  operation: "endOperatorSessions",
  summary: "End all own sessions except this one",
  description: "With `operatorId`, owners end all sessions of that operator.",
  tag: "Operators",
  caller: "operator",
  role: "viewer",
  parameters: EndSessions,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, parameters: { operatorId: given } }, { database }) {
    const operatorId = await readSubject(caller, given, database.reads);
    const kept = given === undefined ? caller.sessionId : undefined;
    await database.write(({ queries }) => deleteOperatorSessions(operatorId, kept, queries));
    return true as const;
  },
});

const provePassword = operation({
  method: "POST",
  path: "/_/api/sessions/current/password",
  operation: "proveOperatorPassword",
  summary: "Give the password again, for operations that ask for a recent one",
  description: "Counts for ten minutes, as signing in does.",
  tag: "Operators",
  caller: "operator",
  role: "viewer",
  parameters: ProvePassword,
  status: 200,
  result: Type.Literal(true),
  errors: [],
  async handle({ caller, parameters: { password }, call }, services) {
    const attempt = { caller, password, call, action: "proveOperatorPassword" };
    await requireCurrentPassword(attempt, "AuthFailed", services);
    const { database, clock } = services;
    await database.write(({ queries }) => updateOperatorSessionProved(caller.sessionId, clock.now(), queries));
    return true as const;
  },
});

/**
 * Returns the operator that an owner names, or the caller. @throws ApiError ObjectPermissionDenied, ItemDoesNotExist
 */
async function readSubject(
  { operatorId, role }: OperatorCaller,
  given: string | undefined,
  queries: Queries,
): Promise<string> {
  if (given === undefined || given === operatorId) return operatorId;
  if (role !== "owner") throw new ApiError("ObjectPermissionDenied", "This requires the role owner.");
  if ((await findOperator(given, queries)) === undefined) throw new ApiError("ItemDoesNotExist");
  return given;
}

/** Operators list and delete their sessions. */
export const ownSessionOperations = [
  ...[getSession, findSession, listSessions, deleteSession],
  ...[endSession, endSessions, provePassword],
];
