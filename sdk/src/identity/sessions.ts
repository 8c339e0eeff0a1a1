import { loginSocialUser, loginUser, renewToken } from "../generated/calls.ts";
import type {
  LoginSocialUserRequest,
  LoginUserRequest,
  OwnUser,
  SocialUserWithToken,
  UserWithToken,
} from "../generated/types.ts";
import { inBackground } from "../lib/background.ts";
import type { Clock } from "../lib/clock.ts";
import { createFlights } from "../lib/flights.ts";
import { newUuid } from "../lib/uuid.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Answered, Credentials, Principal } from "../transport/principal.ts";
import type { AnyCall, Call } from "../wire/call.ts";
import { describeCall, NotSignedIn, ServiceError, SessionEnded } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import { anonymous, type Device, tokenOf, unlessSignalled } from "./device.ts";
import type { EndReason } from "./options.ts";
import type { Outbox } from "./outbox.ts";
import type { ServiceClock } from "./service-clock.ts";
import { type Change, currentSession, type SessionState, type SharedState, type UserToken } from "./state.ts";
import type { Tabs } from "./tabs.ts";

/** The users who are signed in on this device. */
export interface Sessions {
  /** Who a call is sent for: the user, the current user, or the device. */
  principal(client: IdentityClient, call: AnyCall, userId?: string): Principal;
  /** Sends a sign-in or sign-up, and makes its user the current one. */
  signIn(
    client: IdentityClient,
    call: Call<UserWithToken | SocialUserWithToken>,
    options?: CallOptions,
  ): Promise<SignedIn>;
  /** Forgets a session at once, and has its token revoked. */
  signOut(client: IdentityClient, userId: string, options?: CallOptions): Promise<void>;
  /** Forgets a session whose token is dead. */
  forget(userId: string): Promise<void>;
  /** Makes a user the current one, in all tabs or in this one. */
  use(userId: string, here: boolean): Promise<void>;
  /** The session for which calls of this tab are made. */
  readonly current: SessionState | undefined;
  /** The session of a user, also after its end. */
  find(userId: string): SessionState | undefined;
}

export interface SignedIn {
  readonly session: SessionState;
  readonly isNew: boolean;
}

/** Who signs in or forgot the password has no token; and the device speaks for itself. */
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
const reauthenticateMsMax = 30_000;
const signOutMsMax = 10_000;
const dates = ["dateOfBirth", "lastLogin", "created", "lastModified"];

export function createSessions({
  state,
  device,
  outbox,
  tabs,
  clock,
  serviceClock,
  onChange,
  onWarning,
}: {
  readonly state: SharedState;
  readonly device: Device;
  readonly outbox: Outbox;
  readonly tabs: Pick<Tabs, "lock">;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  /** What changes in this tab alone. */
  readonly onChange: (change: Change) => void;
  readonly onWarning: (message: string) => void;
}): Sessions {
  const recoveries = createFlights<Credentials>();
  const renewals = createFlights<void>();
  /** When the token of a sign-in may be renewed again. */
  const nextRenewal = new Map<string, number>();
  /** The user whom this tab alone has chosen. */
  let here: string | undefined;

  function current(): SessionState | undefined {
    if (state.now === undefined) return undefined;
    return currentSession({ ...state.now, current: here ?? state.now.current });
  }

  function find(userId: string): SessionState | undefined {
    return state.now?.sessions.find((session) => session.userId === userId);
  }

  function update(login: string, change: Partial<SessionState>): Promise<void> {
    return state.change((now) => ({
      ...now,
      sessions: now.sessions.map((session) => (session.login === login ? { ...session, ...change } : session)),
    }));
  }

  function remove({ login, userId }: SessionState): Promise<void> {
    if (here === userId) here = undefined;
    return state.change((now) => ({
      ...now,
      sessions: now.sessions.filter((session) => session.login !== login),
      current: now.current === userId ? undefined : now.current,
    }));
  }

  /** The principal of a user, which stays the same for all attempts of a call. */
  function userPrincipal(client: IdentityClient, userId: string): Principal {
    return {
      id: `user:${userId}`,
      async credentials(signal) {
        await unlessSignalled(state.load(), signal);
        const session = find(userId);
        if (session === undefined) throw new NotSignedIn("The user of this call is not signed in.");
        if (session.token === undefined) throw new SessionEnded("The session of this call has ended.");
        if (mayRenew(client, session, session.token)) inBackground(renew(client, session, session.token));
        return session.token;
      },
      replace: (dead, error, call, signal) =>
        unlessSignalled(
          recoveries.join(dead.token, () => recover(client, userId, dead, error, call)),
          signal,
        ),
      answered: (credentials, answer) => inBackground(observe(client, userId, credentials, answer)),
    };
  }

  /** Follows what the answers say about the user. */
  async function observe(
    client: IdentityClient,
    userId: string,
    { token }: Credentials,
    { call, error, date }: Answered,
  ): Promise<void> {
    serviceClock.observe(date);
    const session = find(userId);
    if (error === undefined) outbox.flushSoon(client);
    if (session?.token?.token !== token) return;
    const { id } = call.operation;
    if (error === undefined && (id === "deleteUser" || id === "logoutUser")) return remove(session);
    if (error?.is("AuthUserAccountDisabled")) await update(session.login, { state: "disabled" });
    else if (error === undefined && session.state === "disabled") await update(session.login, { state: "active" });
  }

  /** Finds other credentials of a user whose token the service refuses, or ends the session. */
  async function recover(
    client: IdentityClient,
    userId: string,
    dead: Credentials,
    error: ServiceError,
    call: AnyCall,
  ): Promise<Credentials> {
    await state.refresh(); // another tab may have renewed the token, or signed in again
    const session = find(userId);
    const ended = new SessionEnded("The session of this call has ended.", { call: describeCall(call), cause: error });
    if (session?.token === undefined) throw ended;
    if (session.token.token !== dead.token) return session.token;
    const { userName, token } = session;
    const reason = reasonOf(token, error);
    const input = await askForCredentials(client, { userId, userName, reason });
    const again = input === undefined ? undefined : await signInAgain(client, userId, input);
    if (again !== undefined) return again;
    await state.change((now) => ({
      ...now,
      sessions: now.sessions.map((other) => (other.token?.token === dead.token ? endOf(other, reason) : other)),
    }));
    throw ended;
  }

  function reasonOf({ root, expires }: UserToken, { serviceRoot }: ServiceError): EndReason {
    if (serviceRoot !== undefined && serviceRoot.replace(/\/+$/, "") !== root) return "moved";
    return expires <= serviceClock.now() ? "expired" : "revoked";
  }

  /** What the app answers within its time; undefined if it cannot. */
  async function askForCredentials(
    client: IdentityClient,
    ended: { userId: string; userName: string; reason: EndReason },
  ): Promise<LoginUserRequest | LoginSocialUserRequest | undefined> {
    const { reauthenticate } = client.options;
    if (reauthenticate === undefined) return undefined;
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = clock.after(reauthenticateMsMax, () => resolve(undefined));
    });
    try {
      return await Promise.race([reauthenticate(ended), late]);
    } catch {
      onWarning("The function of the option reauthenticate failed.");
      return undefined;
    } finally {
      cancel();
    }
  }

  /**
   * @returns undefined if the service refuses the credentials, or they are another user's
   * @throws the error of a sign-in that was not answered: the network must not end a session
   */
  async function signInAgain(
    client: IdentityClient,
    userId: string,
    input: LoginUserRequest | LoginSocialUserRequest,
  ): Promise<Credentials | undefined> {
    try {
      const result = await login(client, "userName" in input ? loginUser(input) : loginSocialUser(input));
      if (result.user.id === userId) return (await accept(result)).token;
      await outbox.add(result.token);
      inBackground(outbox.flush(client));
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError && !error.isRetryable) return undefined;
      throw error;
    }
  }

  /** Sends a sign-in for the device, whose root is that of the token. */
  async function login(
    client: IdentityClient,
    call: Call<UserWithToken | SocialUserWithToken>,
    options?: CallOptions,
  ): Promise<Login> {
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

  /** Makes a sign-in the current session, in place of an earlier one of the same user. */
  async function accept({ user, token }: Login): Promise<SessionState & { readonly token: UserToken }> {
    await state.load();
    const old = find(user.id);
    const { accessToken, accessTokenExpires, isNew, ...profile } = { isNew: false, ...user };
    const session = {
      login: newUuid(),
      userId: user.id,
      userName: user.userName,
      user: Object.fromEntries(Object.entries(profile).map(([name, value]) => [name, dateToNumber(value)])),
      at: Math.max(serviceClock.now(), (old?.at ?? 0) + 1),
      state: "active" as const,
      token,
    };
    here = undefined;
    if (old?.token !== undefined) await outbox.add(old.token);
    await state.change((now) => ({
      ...now,
      sessions: [...now.sessions.filter(({ userId }) => userId !== user.id), session],
      current: user.id,
    }));
    return session;
  }

  function mayRenew({ options }: IdentityClient, { login }: SessionState, { issued, expires }: UserToken): boolean {
    const now = serviceClock.now();
    const isDue = expires - now < (expires - issued) / 2 && clock.now() >= (nextRenewal.get(login) ?? 0);
    return isDue && options.renewal !== "never";
  }

  /** Replaces a token by its successor, which every tab gets from the service alike. */
  function renew(client: IdentityClient, { login, userId }: SessionState, old: UserToken): Promise<void> {
    const work = async () => {
      nextRenewal.set(login, clock.now() + hourMs);
      await state.refresh();
      const session = find(userId);
      if (session?.login !== login || session.token?.token !== old.token) return;
      const fixed = {
        id: `user:${userId}`,
        credentials: async () => old,
        replace: (_: unknown, error: ServiceError) => Promise.reject(error),
      };
      try {
        const issued = await client.transport.send(renewToken(), fixed);
        const token = { ...tokenOf(issued, old.root, serviceClock.now()), id: userId };
        if (token.expires <= old.expires) return;
        nextRenewal.delete(login);
        await update(login, { token });
      } catch (error) {
        if (!(error instanceof ServiceError && error.is("OperationNotFound"))) return;
        nextRenewal.set(login, Number.POSITIVE_INFINITY);
        onWarning("This server does not renew user tokens: sessions end when their tokens expire.");
      }
    };
    return renewals.join(old.token, () => tabs.lock(`renewal:${login}`, work, client.transport.hasInterceptors));
  }

  function principal(client: IdentityClient, { operation }: AnyCall, userId?: string): Principal {
    if (userId !== undefined && !ofDevice.has(operation.id)) return userPrincipal(client, userId);
    if (operation.caller === "anyone") return anonymous(state.now?.device?.root ?? client.url);
    const ofTheDevice = device.principal(client);
    if (ofDevice.has(operation.id)) return ofTheDevice;
    let chosen: Principal | undefined;
    const choose = (): Principal => {
      const session = current();
      if (session !== undefined) return userPrincipal(client, session.userId);
      if (operation.caller === "device") return ofTheDevice;
      throw new NotSignedIn(`${operation.id}: NotSignedIn: no user is signed in`);
    };
    return {
      get id() {
        return (chosen ?? (state.now === undefined ? ofTheDevice : choose())).id;
      },
      async credentials(signal) {
        await unlessSignalled(state.load(), signal);
        chosen ??= choose();
        return chosen.credentials(signal);
      },
      replace: (...refused) => (chosen ?? ofTheDevice).replace(...refused),
      answered: (...answer) => chosen?.answered?.(...answer),
    };
  }

  return {
    principal,
    find,
    get current() {
      return current();
    },
    async signIn(client, call, options) {
      const result = await login(client, call, options);
      const session = await accept(result);
      outbox.flushSoon(client);
      return { session, isNew: "isNew" in result.user && result.user.isNew };
    },
    async signOut(client, userId, options) {
      const session = find(userId);
      if (session === undefined) return;
      const kept = session.token === undefined ? undefined : outbox.add(session.token);
      await Promise.all([kept, remove(session)]);
      if (kept !== undefined) await outbox.flush(client, { timeoutMs: signOutMsMax, ...options });
    },
    async forget(userId) {
      const session = find(userId);
      if (session !== undefined) await remove(session);
    },
    async use(userId, isHere) {
      await state.load();
      const session = find(userId);
      if (session === undefined) throw new NotSignedIn("use: the user is not signed in");
      if (session.state === "ended") throw new SessionEnded("use: the session of the user has ended");
      const before = current()?.login;
      here = isHere ? userId : undefined;
      if (isHere && before !== session.login) onChange({ type: "sessionChanged", session });
      if (!isHere) await state.change((now) => (now.current === userId ? now : { ...now, current: userId }));
    },
  };
}

interface Login {
  readonly user: UserWithToken | SocialUserWithToken;
  readonly token: UserToken;
}

function endOf({ token, ...session }: SessionState, reason: EndReason): SessionState {
  return { ...session, state: "ended", reason, ...(token && { expires: token.expires }) };
}

function dateToNumber(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}

/** The profile of a stored session, with its dates. */
export function profileOf({ user }: SessionState): OwnUser {
  const profile = Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      name,
      dates.includes(name) && typeof value === "number" ? new Date(value) : value,
    ]),
  );
  return profile as OwnUser & typeof profile;
}
