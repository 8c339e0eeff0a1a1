import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import { deleteOperatorSession, insertOperatorSession } from "../auth/operator-sessions.ts";
import type { OperatorTokens } from "../auth/operator-tokens.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { SignInGuard } from "../auth/sign-in-guard.ts";
import type { Database } from "../db/database.ts";
import type { OperatorRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { formatDate } from "../lib/dates.ts";
import { presentOperator, Session, SignIn } from "./operators.contract.ts";
import { OperatorNameError, readOperatorName } from "./operators.names.ts";
import { findOperatorByName, updateOperatorLogin } from "./operators.store.ts";

const wrongSignIn = "The name or the password is wrong.";

interface Begun {
  readonly token: string;
  readonly at: number;
  readonly expiresAt: number;
}

/** Operators sign in with their password and get the token of a session, which ends by itself. */
export function operatorsSessionsRoutes(services: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly signInGuard: SignInGuard;
  readonly operatorTokens: OperatorTokens;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly sessionMs: number;
  readonly sessionIdleMs: number;
}): Route[] {
  const { database, passwords, signInGuard, operatorTokens, audit, clock, sessionMs, sessionIdleMs } = services;

  /** @returns undefined when the password or its hash is another one by now */
  async function begin(found: OperatorRow, password: string, event: AuditEvent): Promise<Begun | undefined> {
    const hash = passwords.isOutdated(found.password_hash) ? await passwords.hash(password) : found.password_hash;
    const at = clock.now();
    const expiresAt = at + sessionMs;
    return database.write(async ({ queries }) => {
      if (!(await updateOperatorLogin(found, hash, at, queries))) return undefined;
      await audit.record({ ...event, actor: { kind: "operator", id: found.id, name: found.name } }, queries);
      const token = operatorTokens.issue();
      await insertOperatorSession(found.id, token, { at, expiresAt }, queries);
      return { token, at, expiresAt };
    });
  }

  /** Another login at the same time may have made the hash anew, of this very password. */
  async function beginAgain(nameKey: string, password: string, event: AuditEvent): Promise<Begun | undefined> {
    const found = await findOperatorByName(nameKey, database.reads);
    const isRight = found !== undefined && (await passwords.verify(found.password_hash || undefined, password));
    return isRight && found.id === event.target ? begin(found, password, event) : undefined;
  }

  const createSession = route({
    method: "POST",
    path: "/_/api/sessions",
    operation: "createOperatorSession",
    summary: "Sign in as an operator",
    tag: "Operators",
    caller: "anyone",
    addressLimit: "operatorSignIns",
    isBatchable: false, // two hundred guesses are two hundred requests
    parameters: SignIn,
    status: 201,
    result: Session,
    errors: ["AuthFailed"],
    async handle({ parameters: { name, password }, call }) {
      const nameKey = lookedUpName(name);
      const found = await findOperatorByName(nameKey, database.reads);
      const attempt = { applicationId: undefined, deviceId: undefined, nameKey, address: call.address };
      const isRight = await signInGuard.check(
        attempt,
        () => passwords.verify(found?.password_hash || undefined, password), // some have none
      );
      const event: AuditEvent = { ...calledBy(undefined, call), action: "createOperatorSession", target: found?.id };
      if (found === undefined || !isRight) {
        await audit.note({ ...event, ...refusedWith("AuthFailed") });
        throw new ApiError("AuthFailed", wrongSignIn);
      }
      const begun = (await begin(found, password, event)) ?? (await beginAgain(nameKey, password, event));
      if (begun === undefined) {
        await audit.note({ ...event, ...refusedWith("AuthFailed") });
        throw new ApiError("AuthFailed", wrongSignIn);
      }
      const { token, at, expiresAt } = begun;
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

/** What cannot be a name is nobody's, and is looked for like any other. */
function lookedUpName(given: string): string {
  try {
    return readOperatorName(given);
  } catch (error) {
    if (error instanceof OperatorNameError) return "";
    throw error;
  }
}
