import { type AuditEvent, calledBy, refusedWith } from "../audit/audit.events.ts";
import { type HashTicket, operatorTicket } from "../auth/guard/hash-queue.ts";
import type { OperatorMark } from "../auth/operator-marks.ts";
import { deleteOperatorSession, insertOperatorSession } from "../auth/operator-sessions.ts";
import type { Browser } from "../contract/browser.ts";
import type { Call } from "../contract/call.ts";
import type { OperatorRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { digestSecret } from "../lib/secrets.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { presentOperator } from "./operators.contract.ts";
import { OperatorNameError, readOperatorName } from "./operators.names.ts";
import { ownSessionOperations } from "./operators.own-sessions.routes.ts";
import { Session, SignIn } from "./operators.sessions.contract.ts";
import { findOperatorByName, updateOperatorLogin } from "./operators.store.ts";

const signInPath = { method: "POST", path: "/_/api/sessions" } as const;

const createSession = operation({
  ...signInPath,
  operation: "createOperatorSession",
  summary: "Sign in as an operator",
  description:
    "Answers with the token of a new session, or sets it as a cookie for the console. After too many wrong passwords, attempts are RateLimitExceeded.",
  tag: "Operators",
  caller: "anyone",
  isBatchable: false, // otherwise one batch could carry two hundred guesses
  parameters: SignIn,
  status: 201,
  result: Session,
  errors: ["AuthFailed", "RateLimitExceeded"],
  async handle({ parameters: { name, password, cookie = false, isPersistent = false }, call }, services) {
    const { operatorMarks, operatorSessionCookies: cookies, config } = services;
    const nameKey = nameToLookUp(name);
    const browser = call.browser?.();
    const isCookie = cookie && cookies.mayBegin(browser);
    const earlier = isCookie ? cookies.read({ browser, isDownload: false })?.token : undefined;
    const { found, mark } = await admitSignIn(nameKey, browser, call, services);
    const { isRight, ticket } = await checkPassword(nameKey, password, found, mark, call, services);
    const event: AuditEvent = { ...calledBy(undefined, call), action: "createOperatorSession", target: found?.id };
    const origin = { address: call.address, browser: browser?.name ?? "", isCookie, earlier };
    const attempt = { password, ticket, event, origin };
    const begun =
      found === undefined || !isRight
        ? undefined
        : ((await startSession(found, attempt, services)) ?? (await startWithNewHash(nameKey, attempt, services)));
    if (found === undefined || begun === undefined) {
      await services.audit.note({ ...event, ...refusedWith("AuthFailed") });
      throw new ApiError("AuthFailed", "The name or the password is wrong.");
    }
    const { token, at, expiresAt, hash } = begun;
    if (cookie) operatorMarks.set(browser, { id: found.id, password_hash: hash });
    if (isCookie) cookies.set(browser, token, isPersistent);
    const operator = presentOperator({ ...found, last_login_at: at });
    return {
      ...(!isCookie && { token }),
      expires: formatDate(expiresAt),
      idleMs: config.operatorIdleMs,
      operator,
    };
  },
});

/** Returns an invalid name unchanged, so that it is looked up and refused like an unknown one. */
function nameToLookUp(given: string): string {
  try {
    return readOperatorName(given);
  } catch (error) {
    if (error instanceof OperatorNameError) return "";
    throw error;
  }
}

/**
 * Counts a sign-in against the limit of its address, or of its mark for a marked browser.
 *
 * @returns the operator of this name, and the mark if it belongs to the operator
 * @throws RateLimitExceeded
 */
async function admitSignIn(
  nameKey: string,
  browser: Browser | undefined,
  { address }: Call,
  { database, operatorMarks, rateLimits }: Services,
): Promise<{ found: OperatorRow | undefined; mark: OperatorMark | undefined }> {
  const limited = { ...signInPath, addressLimit: "operatorSignIns" } as const;
  const admit = async (counted: string) => rateLimits.admit(limited, { path: {}, address: counted }, undefined);
  const given = operatorMarks.read(browser);
  if (given === undefined) await admit(address); // before the first query
  const found = await findOperatorByName(nameKey, database.reads);
  const mark = given !== undefined && found !== undefined && operatorMarks.isOf(given, found) ? given : undefined;
  if (given !== undefined) await admit(mark === undefined ? address : `mark ${mark.id}`);
  return { found, mark };
}

async function checkPassword(
  nameKey: string,
  password: string,
  found: OperatorRow | undefined,
  mark: OperatorMark | undefined,
  call: Call,
  { signInGuard, passwords }: Services,
): Promise<{ isRight: boolean; ticket: HashTicket }> {
  const origin = { deviceId: undefined, recognizedOrigin: mark?.id, signal: call.whenGone?.() };
  const attempt = { applicationId: undefined, nameKey, address: call.address, ...origin };
  let ticket = operatorTicket(call);
  const isRight = await signInGuard.check(attempt, (isRecognized) => {
    if (isRecognized) ticket = operatorTicket(call, mark?.id);
    return passwords.verify(found?.password_hash || undefined, password, ticket); // some operators have no password
  });
  return { isRight, ticket };
}

interface StartedSession {
  readonly token: string;
  readonly at: number;
  readonly expiresAt: number;
  /** The stored hash of the password. */
  readonly hash: string;
}

/** A sign-in with the correct password. */
interface Attempt {
  readonly password: string;
  readonly ticket: HashTicket;
  readonly event: AuditEvent;
  readonly origin: {
    readonly address: string;
    readonly browser: string;
    readonly isCookie: boolean;
    /** The token that the new cookie replaces: a browser has at most one session. */
    readonly earlier: string | undefined;
  };
}

/** @returns undefined when the password or its hash has changed */
async function startSession(
  found: OperatorRow,
  { password, ticket, event, origin: { earlier, ...origin } }: Attempt,
  { database, passwords, operatorTokens, audit, config, clock }: Services,
): Promise<StartedSession | undefined> {
  const isOutdated = passwords.isOutdated(found.password_hash);
  const hash = isOutdated ? await passwords.hash(password, ticket) : found.password_hash;
  const at = clock.now();
  const expiresAt = at + config.operatorSessionMs;
  return database.write(async ({ queries }) => {
    if (!(await updateOperatorLogin(found, hash, at, queries))) return undefined;
    await audit.record({ ...event, actor: { kind: "operator", id: found.id, name: found.name } }, queries);
    const token = operatorTokens.issue();
    if (earlier !== undefined) await deleteOperatorSession(digestSecret(earlier), queries);
    await insertOperatorSession(found.id, token, { at, expiresAt, ...origin }, queries);
    return { token, at, expiresAt, hash };
  });
}

/** A concurrent sign-in may have rehashed the same password. */
async function startWithNewHash(
  nameKey: string,
  attempt: Attempt,
  services: Services,
): Promise<StartedSession | undefined> {
  const { password, ticket, event } = attempt;
  const { database, passwords } = services;
  const found = await findOperatorByName(nameKey, database.reads);
  const isRight = found !== undefined && (await passwords.verify(found.password_hash || undefined, password, ticket));
  return isRight && found.id === event.target ? startSession(found, attempt, services) : undefined;
}

/** Operators sign in with their password and receive a session token that expires. */
export const operatorSessionOperations = [createSession, ...ownSessionOperations];
