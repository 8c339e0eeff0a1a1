import { loginSocialUser, loginUser, renewToken } from "../generated/calls.ts";
import type {
  LoginSocialUserRequest,
  LoginUserRequest,
  SocialUserWithToken,
  UserWithToken,
} from "../generated/types.ts";
import { normalizeAddress } from "../lib/address.ts";
import { inBackground } from "../lib/background.ts";
import { createFlights } from "../lib/flights.ts";
import { newUuid } from "../lib/uuid.ts";
import { within } from "../lib/wait.ts";
import type { CallOptions } from "../transport/options.ts";
import {
  type Answered,
  type Credentials,
  fixedPrincipal,
  type Principal,
  type PrincipalSource,
} from "../transport/principal.ts";
import type { AnyCall, Call } from "../wire/call.ts";
import { describeCall, isNamed, NotSignedIn, ServiceError, SessionEnded } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import { type Device, tokenOf } from "./device.ts";
import type { Outbox } from "./outbox.ts";
import type { ScopeParts } from "./scope-parts.ts";
import { currentSession, type SessionState, type UserToken } from "./state.ts";

/** The users who are signed in on this device. */
export interface Sessions {
  /** The principal of a call: the user, the current user, or the device. */
  principal(client: IdentityClient, call: AnyCall, userId?: string): PrincipalSource;
  /** Renews the token of a session in the second half of its lifetime. */
  keep(client: IdentityClient, userId: string): void;
  /** Sends a sign-in or sign-up as the device, without storing the session. */
  login(client: IdentityClient, call: LoginCall, options?: CallOptions): Promise<Login>;
  /** Sends a sign-in or sign-up, and makes its user the current user. */
  signIn(client: IdentityClient, call: LoginCall, options?: CallOptions): Promise<SignedIn>;
  /** Deletes a session immediately and revokes its token in the background. */
  signOut(client: IdentityClient, userId: string, options?: CallOptions): Promise<void>;
  /** Deletes a session whose token is invalid. */
  forget(userId: string): Promise<void>;
  /** Makes a user the current user, in all tabs or only in this tab. */
  use(userId: string, here: boolean): Promise<void>;
  /** The current session of this tab. */
  readonly current: SessionState | undefined;
  /** The session of a user, even if it has expired or was revoked. */
  find(userId: string): SessionState | undefined;
}

export interface SignedIn {
  readonly session: SessionState;
  readonly isNew: boolean;
}

/** Sign-in and password reset are called with the device token, because the user has no token yet. */
const ofDevice = new Set([
  "createUser",
  "loginUser",
  "loginSocialUser",
  "requestPasswordReset",
  "resetPassword",
  "getDevice",
  "changeDevice",
  "createCrashReport",
]);

const hourMs = 3_600_000;
/** The minimum backoff after a failed renewal: with a wrong clock, a valid token may seem to have expired. */
const retryMsMin = 1_000;
/** If the local clock is ahead of the service, each new token seems to be in the second half of its lifetime. */
const renewalPauseMs = 10_000;
/** The maximum lag of the `Date` header: it is rounded down to seconds, and a busy server may write it late. */
const dateLagMsMax = 2_000;
const reauthenticateMsMax = 30_000;
const signOutMsMax = 10_000;

type Input = LoginUserRequest | LoginSocialUserRequest;

export function createSessions(
  { state, tabs, clock, serviceClock, notify }: ScopeParts,
  device: Device,
  outbox: Outbox,
): Sessions {
  const joinRecovery = createFlights<Credentials | undefined>();
  const joinRenewal = createFlights<void>();
  /** The earliest time of the next renewal, by sign-in. */
  const nextRenewal = new Map<string, number>();
  /** The current user of this tab, if it differs from that of the other tabs. */
  let here: string | undefined;

  function current(): SessionState | undefined {
    return state.now && currentSession({ ...state.now, current: here ?? state.now.current });
  }

  function find(userId: string): SessionState | undefined {
    return state.now?.sessions.find((session) => session.userId === userId);
  }

  /** Updates or deletes the session of a sign-in. */
  function update(login: string, change: (session: SessionState) => SessionState | undefined): Promise<void> {
    return state.change((now) => {
      const sessions = now.sessions.flatMap((session) => (session.login === login ? (change(session) ?? []) : session));
      return { ...now, sessions, current: sessions.find(({ userId }) => userId === now.current)?.userId };
    });
  }

  function remove({ login, userId }: SessionState): Promise<void> {
    if (here === userId) here = undefined;
    return update(login, () => undefined);
  }

  /** Updates the session from responses that contain the user. */
  function observe(userId: string, { token }: Credentials, answer: Answered): void {
    const { call, error, time } = answer;
    serviceClock.observe(time);
    const session = find(userId);
    if (session?.token?.token !== token) return;
    const { login } = session;
    const isDisabled = session.state === "disabled";
    if (error) {
      if (isNamed(error, "AuthUserAccountDisabled"))
        inBackground(update(login, (now) => ({ ...now, state: "disabled" })));
    } else if (/^(?:delete|logout)User$/.test(call.operation.id)) inBackground(remove(session));
    else if (isDisabled) inBackground(update(login, (now) => ({ ...now, state: "active" })));
  }

  /** Gets new credentials for a user whose token was refused; without them, marks the session as ended. */
  async function recover(
    client: IdentityClient,
    userId: string,
    dead: Credentials,
    cause: ServiceError,
  ): Promise<Credentials | undefined> {
    await state.refresh(); // another tab may have renewed the token, or signed in again
    const session = find(userId);
    if (!session?.token) return undefined;
    const { userName, token, login } = session;
    if (token.token !== dead.token) return token;
    const { root, expires } = token;
    const isMoved = cause.serviceRoot !== undefined && normalizeAddress(cause.serviceRoot) !== root;
    const reason = isMoved ? "moved" : expires <= serviceClock.now() + dateLagMsMax ? "expired" : "revoked";
    const ask = async () => client.options.reauthenticate?.({ userId, userName, reason });
    const warn = () => notify({ type: "warning", message: "The function reauthenticate failed." });
    const input = await within(
      reauthenticateMsMax,
      clock,
      () => ask().catch(warn),
      () => {},
    );
    const again = input && (await signInAgain(client, userId, input));
    if (again) return again;
    await update(login, ({ token, ...now }) =>
      token?.token === dead.token ? { ...now, state: "ended", reason, expires } : { ...now, ...(token && { token }) },
    );
    return undefined;
  }

  /**
   * @returns undefined if the service refuses the credentials, or they are another user's
   * @throws the error of a sign-in without a response: a network failure must not sign the user out
   */
  async function signInAgain(client: IdentityClient, userId: string, input: Input): Promise<Credentials | undefined> {
    try {
      const result = await login(client, "userName" in input ? loginUser(input) : loginSocialUser(input));
      if (result.user.id === userId) return (await accept(result)).token;
      await outbox.add(result.token);
      inBackground(outbox.flush(client));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.isRetryable) throw error;
    }
    return undefined;
  }

  /** The device is registered at the root address of the token. */
  async function login(client: IdentityClient, call: LoginCall, options?: CallOptions): Promise<Login> {
    const principal = device.principal(client);
    let root = client.url;
    const answered = (credentials: Credentials, answer: Answered) => {
      root = credentials.root;
      principal.answered?.(credentials, answer);
    };
    const limit = { timeoutMs: client.signInMs, ...options };
    const user = await client.transport.send(call, { ...principal, answered }, limit);
    return { user, token: { ...tokenOf(user, root, serviceClock.now()), id: user.id } };
  }

  /** Makes a sign-in the current session and replaces an earlier session of the same user. */
  async function accept({ user, token }: Login): Promise<SessionState> {
    await state.load();
    const { accessToken, accessTokenExpires, isNew, ...profile } = { isNew: false, ...user };
    const { id: userId, userName } = profile;
    const old = find(userId);
    const at = Math.max(serviceClock.now(), (old?.at ?? 0) + 1);
    const session: SessionState = { login: newUuid(), userId, userName, user: profile, at, state: "active", token };
    here = undefined;
    if (old?.token) await outbox.add(old.token);
    await state.change((now) => ({
      ...now,
      sessions: [...now.sessions.filter((other) => other.userId !== userId), session],
      current: userId,
    }));
    return session;
  }

  /**
   * Replaces a token in the second half of its lifetime by its successor. The service returns the same successor to every
   * tab.
   */
  function renewSoon(
    { transport, interceptors, options }: IdentityClient,
    session: SessionState,
    old: UserToken,
  ): void {
    const { login, userId } = session;
    const { token, root, issued, expires } = old;
    const isEarly = expires - serviceClock.now() >= (expires - issued) / 2;
    if (isEarly || clock.now() < (nextRenewal.get(login) ?? 0) || options.renewal === "never") return;
    const pause = (ms: number) => void nextRenewal.set(login, clock.now() + ms);
    const renew = async () => {
      await state.refresh();
      if (find(userId)?.token?.token !== token) return;
      try {
        const renewed = await transport.send(renewToken(), fixedPrincipal(`user:${userId}`, old));
        const next = { ...tokenOf(renewed, root, serviceClock.now()), id: userId };
        if (next.expires <= expires) return pause(hourMs);
        pause(renewalPauseMs);
        await update(login, (now) => ({ ...now, token: next }));
      } catch (error) {
        const leftMs = expires - serviceClock.now();
        if (!isNamed(error, "OperationNotFound")) return pause(Math.min(hourMs, Math.max(retryMsMin, leftMs / 4)));
        pause(Number.POSITIVE_INFINITY);
        const message = "This server does not renew user tokens: sessions end when their tokens expire.";
        notify({ type: "warning", message });
      }
    };
    inBackground(joinRenewal(token, () => tabs.lock(`renewal:${login}`, renew, interceptors.size > 0)));
  }

  return {
    find,
    get current() {
      return current();
    },
    principal(client, call, ofUser) {
      const choose = (): Principal => {
        const { id, caller } = call.operation;
        const userId = ofUser ?? current()?.userId;
        if (ofDevice.has(id) || (!userId && caller === "device")) return device.principal(client);
        const details = { call: describeCall(call) };
        if (!userId) throw new NotSignedIn("no user is signed in", details);
        return {
          id: `user:${userId}`,
          credentials() {
            const session = find(userId);
            if (!session) throw new NotSignedIn("the user is not signed in", details);
            if (!session.token) throw new SessionEnded("the session has ended", details);
            renewSoon(client, session, session.token);
            return session.token;
          },
          async replace(dead, error) {
            const found = await joinRecovery(dead.token, () => recover(client, userId, dead, error));
            if (found) return found;
            const { attempts, outcome, idempotencyKey } = error;
            throw new SessionEnded("the session has ended", {
              ...details,
              attempts,
              outcome,
              idempotencyKey,
              cause: error,
            });
          },
          answered: (credentials, answer) => observe(userId, credentials, answer),
        };
      };
      return () => {
        if (call.operation.caller === "anyone" && !ofUser)
          return fixedPrincipal("", { root: state.now?.device?.root ?? client.url, token: "" });
        return state.now ? choose() : state.load().then(choose);
      };
    },
    keep(client, userId) {
      const session = find(userId);
      if (session?.token) renewSoon(client, session, session.token);
    },
    login,
    async signIn(client, call, options) {
      const result = await login(client, call, options);
      const session = await accept(result);
      outbox.flushSoon(client);
      return { session, isNew: "isNew" in result.user && result.user.isNew };
    },
    async signOut(client, userId, options) {
      const session = find(userId);
      if (!session) return;
      const { token } = session;
      await Promise.all([token && outbox.add(token), remove(session)]);
      if (token) await outbox.flush(client, { timeoutMs: signOutMsMax, ...options });
    },
    async forget(userId) {
      const session = find(userId);
      if (session) await remove(session);
    },
    async use(userId, isHere) {
      await state.load();
      const session = find(userId);
      if (!session) throw new NotSignedIn("use: the user is not signed in");
      if (session.state === "ended") throw new SessionEnded("use: the session has ended");
      const before = current()?.login;
      here = isHere ? userId : undefined;
      if (!isHere) await state.change((now) => (now.current === userId ? now : { ...now, current: userId }));
      else if (before !== session.login) notify({ type: "sessionChanged", session });
    },
  };
}

export type LoginCall = Call<UserWithToken | SocialUserWithToken>;

/** The response to a sign-in. */
export interface Login {
  readonly user: UserWithToken | SocialUserWithToken;
  readonly token: UserToken;
}
