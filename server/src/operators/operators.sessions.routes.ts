import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import { type HashTicket, operatorTicket } from "../auth/hash-queue.ts";
import type { OperatorMark, OperatorMarks } from "../auth/operator-marks.ts";
import { deleteOperatorSession, insertOperatorSession } from "../auth/operator-sessions.ts";
import type { OperatorTokens } from "../auth/operator-tokens.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { SignInGuard } from "../auth/sign-in-guard.ts";
import type { Database } from "../db/database.ts";
import type { OperatorRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Call } from "../http/call.ts";
import type { RateLimits } from "../http/rate-limits.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDate } from "../lib/dates.ts";
import { presentOperator, Session, SignIn } from "./operators.contract.ts";
import { OperatorNameError, readOperatorName } from "./operators.names.ts";
import { findOperatorByName, updateOperatorLogin } from "./operators.store.ts";

const signInPath = { method: "POST", path: "/_/api/sessions" } as const;
const wrongSignIn = "The name or the password is wrong.";

interface Begun {
  readonly token: string;
  readonly at: number;
  readonly expiresAt: number;
  /** The stored hash of the password. */
  readonly hash: string;
}

/** Operators sign in with their password and get the token of a session that expires. */
export function operatorsSessionsRoutes(services: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly signInGuard: SignInGuard;
  readonly operatorTokens: OperatorTokens;
  readonly operatorMarks: OperatorMarks;
  readonly rateLimits: RateLimits;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly sessionMs: number;
  readonly sessionIdleMs: number;
}): Route[] {
  const { database, passwords, signInGuard, operatorTokens, operatorMarks, rateLimits } = services;
  const { audit, clock, sessionMs, sessionIdleMs } = services;

  /** Counts a sign-in against the limit of its address, or of its mark for a marked browser. */
  function admit({ address }: Call, mark?: OperatorMark): void {
    const limited = { ...signInPath, addressLimit: "operatorSignIns" } as const;
    rateLimits.admit(limited, { path: {}, address: mark === undefined ? address : `mark ${mark.id}` }, undefined);
  }

  /** @returns undefined when the password or its hash has changed */
  async function begin(
    found: OperatorRow,
    password: string,
    ticket: HashTicket,
    event: AuditEvent,
  ): Promise<Begun | undefined> {
    const isOutdated = passwords.isOutdated(found.password_hash);
    const hash = isOutdated ? await passwords.hash(password, ticket) : found.password_hash;
    const at = clock.now();
    const expiresAt = at + sessionMs;
    return database.write(async ({ queries }) => {
      if (!(await updateOperatorLogin(found, hash, at, queries))) return undefined;
      await audit.record({ ...event, actor: { kind: "operator", id: found.id, name: found.name } }, queries);
      const token = operatorTokens.issue();
      await insertOperatorSession(found.id, token, { at, expiresAt }, queries);
      return { token, at, expiresAt, hash };
    });
  }

  /** A concurrent login may have rehashed the same password. */
  async function beginAgain(
    nameKey: string,
    password: string,
    ticket: HashTicket,
    event: AuditEvent,
  ): Promise<Begun | undefined> {
    const found = await findOperatorByName(nameKey, database.reads);
    const isRight = found !== undefined && (await passwords.verify(found.password_hash || undefined, password, ticket));
    return isRight && found.id === event.target ? begin(found, password, ticket, event) : undefined;
  }

  const createSession = route({
    ...signInPath,
    operation: "createOperatorSession",
    summary: "Sign in as an operator",
    tag: "Operators",
    caller: "anyone",
    isBatchable: false, // two hundred guesses are two hundred requests
    parameters: SignIn,
    status: 201,
    result: Session,
    errors: ["AuthFailed", "RateLimitExceeded"],
    async handle({ parameters: { name, password, cookie = false }, call }) {
      const nameKey = lookedUpName(name);
      const browser = call.browser?.();
      const given = operatorMarks.read(browser);
      if (given === undefined) admit(call); // before the first query
      const found = await findOperatorByName(nameKey, database.reads);
      const mark = given !== undefined && found !== undefined && operatorMarks.isOf(given, found) ? given : undefined;
      if (given !== undefined) admit(call, mark);
      const origin = { deviceId: undefined, recognizedOrigin: mark?.id, signal: call.whenGone?.() };
      const attempt = { applicationId: undefined, nameKey, address: call.address, ...origin };
      let ticket = operatorTicket(call);
      const isRight = await signInGuard.check(attempt, (isRecognized) => {
        if (isRecognized) ticket = operatorTicket(call, mark?.id);
        return passwords.verify(found?.password_hash || undefined, password, ticket); // some operators have no password
      });
      const event: AuditEvent = { ...calledBy(undefined, call), action: "createOperatorSession", target: found?.id };
      if (found === undefined || !isRight) {
        await audit.note({ ...event, ...refusedWith("AuthFailed") });
        throw new ApiError("AuthFailed", wrongSignIn);
      }
      const begun =
        (await begin(found, password, ticket, event)) ?? (await beginAgain(nameKey, password, ticket, event));
      if (begun === undefined) {
        await audit.note({ ...event, ...refusedWith("AuthFailed") });
        throw new ApiError("AuthFailed", wrongSignIn);
      }
      const { token, at, expiresAt, hash } = begun;
      if (cookie) operatorMarks.set(browser, { id: found.id, password_hash: hash });
      const operator = presentOperator({ ...found, last_login_at: at });
      return { token, expires: formatDate(expiresAt), idleMs: sessionIdleMs, operator };
    },
  });

  const deleteSession = route({
    method: "DELETE",
    path: "/_/api/sessions/current",
    operation: "deleteOperatorSession",
    summary: "Sign out: end this session",
    tag: "Operators",
    caller: "operator",
    withFirstPassword: true,
    role: "viewer",
    status: 200,
    result: Type.Literal(true),
    errors: [],
    async handle({ caller }) {
      await database.write(({ queries }) => deleteOperatorSession(caller.sessionId, queries));
      return true as const;
    },
  });

  return [createSession, deleteSession];
}

/** Looks up an invalid name like any other, so that both are refused alike. */
function lookedUpName(given: string): string {
  try {
    return readOperatorName(given);
  } catch (error) {
    if (error instanceof OperatorNameError) return "";
    throw error;
  }
}
