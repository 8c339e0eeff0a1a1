import { calledBy, refusedWith } from "../audit/audit.events.ts";
import { type HashTicket, userTicket } from "../auth/guard/hash-queue.ts";
import type { SignInAttempt } from "../auth/guard/sign-in-guard.ts";
import { insertUserToken } from "../auth/user-tokens.ts";
import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { userNameKey } from "../lib/user-name-keys.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { LoginUser, presentOwnUser, UserWithToken } from "./users.contract.ts";
import { isRecognitionDue, recognizeDevice } from "./users.recognized-devices.ts";
import { recordSignIn } from "./users.signing.ts";
import { type LoginRow, updateUserLogin } from "./users.store.ts";
import { findMeant } from "./users.verified-addresses.ts";

const loginUser = operation({
  method: "POST",
  path: "/users/login",
  operation: "loginUser",
  summary: "Log in a user",
  description:
    "Answers with the profile and a new user token for this device. After too many wrong passwords, attempts are RateLimitExceeded.",
  tag: "Users",
  caller: "device",
  addressLimit: "logins",
  parameters: LoginUser,
  status: 200,
  result: UserWithToken,
  errors: ["AuthBadUsernameOrPassword"],
  async handle({ caller, call, parameters }, services) {
    const { database, tokens, passwords, pictureUrl, clock, events } = services;
    const { applicationId, deviceId } = caller;
    const { found, ticket } = await requireLogin(parameters, caller, call, services);
    const from = found.password_hash;
    const rehash = passwords.isOutdated(from)
      ? { rehash: { from, to: await passwords.hash(parameters.password, ticket) } }
      : {};
    // Issued with the version read before the check, so that a concurrent password change revokes this token.
    const { token, row } = tokens.issueUserToken(caller, { id: found.id, tokenVersion: found.token_version });
    const user = await database.write(async ({ queries }) => {
      const login = { userId: found.id, at: clock.now(), ...rehash };
      const updated = await updateUserLogin(applicationId, login, queries);
      if (updated === undefined) throw new ApiError("AuthBadUsernameOrPassword");
      await insertUserToken(row, queries);
      if (isRecognitionDue(found.recognized_at, login.at)) {
        const device = { application_id: applicationId, user_id: found.id, device_id: deviceId };
        await recognizeDevice({ ...device, recognized_at: login.at }, queries);
      }
      await recordSignIn(applicationId, found.id, false, events, queries);
      return updated;
    });
    return { ...presentOwnUser(user, pictureUrl), ...token };
  },
});

/** The user whose password was given, and the ticket for another hash of it. */
interface Login {
  readonly found: LoginRow;
  readonly ticket: HashTicket;
}

/**
 * Verifies the password of a user who may log in.
 *
 * @throws ApiError AuthBadUsernameOrPassword, AuthUserAccountDisabled; and those of `SignInGuard.check`
 */
async function requireLogin(
  parameters: Static<typeof LoginUser>,
  caller: Caller,
  call: Call,
  services: Services,
): Promise<Login> {
  const candidates = await listCandidates(parameters.username, caller, services);
  const login = await checkPassword(parameters.password, candidates, caller, call, services);
  const refused =
    login === undefined ? "AuthBadUsernameOrPassword" : login.found.disabled_at !== null && "AuthUserAccountDisabled";
  if (login === undefined || refused) {
    const condition = refused || "AuthBadUsernameOrPassword";
    const target = login?.found.id ?? candidates.find(({ user }) => user !== undefined)?.user?.id;
    const event = { ...calledBy(caller, call), action: "loginUser", target };
    await services.audit.note({ ...event, ...refusedWith(condition) });
    throw new ApiError(condition);
  }
  return login;
}

/** A user whose password may be meant, or the place of one: whether there is one must not be observable. */
interface Candidate {
  readonly user: LoginRow | undefined;
  /** Counts the guesses. */
  readonly nameKey: string;
}

/** Returns the user of the name, and the user who has verified the address, where addresses sign in. */
async function listCandidates(username: string, caller: Caller, { database, clock }: Services): Promise<Candidate[]> {
  const { named, address } = await findMeant(username, caller, clock.now(), database.reads);
  const ofName = { user: named, nameKey: userNameKey(username) };
  if (address === undefined) return [ofName];
  const { key, owner } = address;
  // Not the owner's name: a wait that guesses for the name have caused would tell whose address it is. No name has a NUL.
  const ofAddress = { user: owner, nameKey: `\0${key}` };
  // The same order for all callers of a name, so that none holds what another waits for. First is the one who may exist:
  // a recognized device of the owner does not wait for guesses of others for a name that no user has.
  return named === undefined ? [ofAddress, ofName] : [ofName, ofAddress];
}

/** Which candidate has the password, and whether its device was recognized; the same in a repeated transaction. */
interface Match {
  readonly index: number;
  readonly isRecognized: boolean;
}

/**
 * Verifies a password for each candidate until it is right, so that a refusal costs as many hashes as there are
 * candidates. The guesses count for each of them.
 */
async function checkPassword(
  password: string,
  candidates: readonly Candidate[],
  caller: Caller,
  call: Call,
  { database, signInGuard, passwords }: Services,
): Promise<Login | undefined> {
  const { applicationId, deviceId } = caller;
  const signal = call.whenGone?.();

  async function check(index: number): Promise<Match | undefined> {
    const candidate = candidates[index];
    if (candidate === undefined) return undefined;
    const { user: found, nameKey } = candidate;
    const isOwnToken = caller.userId !== undefined && caller.userId === found?.id;
    const isRecognizedDevice = (found?.recognized_at ?? null) !== null;
    const recognizedOrigin = isRecognizedDevice || isOwnToken ? deviceId : undefined;
    const storedHash = found?.password_hash || undefined; // users of social logins have no hash
    const { address } = call;
    const attempt: SignInAttempt = { applicationId, nameKey, deviceId, address, recognizedOrigin, signal };
    let match: Match | undefined;
    const failures: unknown[] = [];
    await signInGuard.check(attempt, async (isRecognized) => {
      const ticket = userTicket(applicationId, call, isRecognized ? found?.id : undefined);
      const isRight = await passwords.verify(storedHash, password, ticket);
      if (isRight) match = { index, isRecognized };
      else {
        try {
          match = await check(index + 1);
        } catch (error) {
          failures.push(error); // a refusal to try the next candidate does not hide that this one was guessed at
        }
      }
      // The password of another candidate is no guess at this one, and does not reset the guesses.
      return isRight || (match === undefined ? false : undefined);
    });
    if (failures.length > 0) throw failures[0];
    return match;
  }

  const hashes = candidates.map(({ user, nameKey }) => `${user?.password_hash} ${nameKey}`).join();
  // Outside the transaction, so that the rollback of a batch does not uncount the attempts.
  const match = await database.outsideTransaction(`login ${hashes} ${password}`, () => check(0), { hasEffect: true });
  const found = match && candidates[match.index]?.user;
  if (match === undefined || found === undefined) return undefined;
  return { found, ticket: userTicket(applicationId, call, match.isRecognized ? found.id : undefined) };
}

/** Login with a password (spec/users#log-in, spec/users#sign-in-by-address). */
export const userLoginOperations = [loginUser];
