import { decodeResult } from "../transport/decode.ts";
import type { EndReason } from "./options.ts";
import type { Records } from "./records.ts";
import type { Tabs } from "./tabs.ts";

/** A token with the address where it is valid; times are in milliseconds of the service's clock. */
export interface Token {
  readonly token: string;
  readonly root: string;
  readonly expires: number;
  readonly issued: number;
}

export interface DeviceToken extends Token {
  /** The time of the device's registration; the token may come from a later logout. */
  readonly registered: number;
}

export interface UserToken extends Token {
  readonly id: string;
}

/** A signed-in user. Each sign-in is a separate session, so that revoking an old session cannot affect a new one. */
export interface SessionState {
  /** Identifies the sign-in. */
  readonly login: string;
  readonly userId: string;
  readonly userName: string;
  /** The profile as returned by the sign-in. */
  readonly user: Readonly<Record<string, unknown>>;
  /** Orders the sign-ins of one user. */
  readonly at: number;
  readonly state: "active" | "disabled" | "ended";
  readonly reason?: EndReason;
  /** Absent after sign-out, expiry or revocation. */
  readonly token?: UserToken;
  /** When the token of an inactive session expires. */
  readonly expires?: number | undefined;
}

/** The state that all tabs of a scope share. */
export interface State {
  readonly device?: DeviceToken | undefined;
  /** At most one of each user. */
  readonly sessions: readonly SessionState[];
  /** The user for whom calls are made. */
  readonly current?: string | undefined;
}

/** The events of a change. */
export interface Change {
  readonly type:
    | "signedIn"
    | "signedOut"
    | "sessionEnded"
    | "sessionChanged"
    | "renewed"
    | "deviceRegistered"
    | "rootChanged";
  /** The previous value, if it is deleted. */
  readonly session?: SessionState | undefined;
}

/** The state in memory, which follows the stores. */
export interface SharedState {
  /** Undefined until the stores have been read. */
  readonly now: State | undefined;
  /** Reads the stores when called first, and returns the current state. */
  load(): Promise<State>;
  /** Reads the stores again: another tab may have changed them. */
  refresh(): Promise<State>;
  /** Changes the state in memory immediately; resolves after the stores have saved it. */
  change(update: (state: State) => State): Promise<void>;
}

export const tokenPattern = { token: "", root: "", expires: 0, issued: 0 };
const sessionPattern = { login: "", userId: "", userName: "", user: {}, at: 0, state: "active" as const };

export function createState({
  store,
  secrets,
  tabs,
  notify,
}: {
  readonly store: Records;
  readonly secrets: Records;
  readonly tabs: Pick<Tabs, "announce">;
  readonly notify: (change: Change) => void;
}): SharedState {
  let now: State | undefined;
  let loading: Promise<State> | undefined;
  let later: Promise<State> | undefined;
  /** Changes that are not in the stores yet. */
  let unwritten = 0;
  /** Reads and writes of the stores run one after the other. */
  let queue: Promise<unknown> = Promise.resolve();

  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }

  function apply(next: State): void {
    const before = now;
    now = next;
    if (before) notifyChanges(before, next, notify);
  }

  /** Calls that come before the read has begun share it. */
  function refresh(): Promise<State> {
    later ??= enqueue(async () => {
      later = undefined;
      const next = await readStores();
      if (unwritten > 0) return undefined; // a change has come that these stores do not have yet
      apply(next);
      return next;
    }).then((next) => next ?? refresh());
    return later;
  }

  async function readStores(): Promise<State> {
    const device = await secrets.read<DeviceToken>("device", { ...tokenPattern, registered: 0 });
    const current = await store.read("current", { userId: "" });
    const newest = new Map<string, SessionState>();
    for (const name of await store.list("session:")) {
      const session = await store.read<SessionState>(name, sessionPattern);
      if (!session) continue;
      const { login, userId, at } = session;
      const token = await secrets.read<UserToken>(`user:${login}`, { ...tokenPattern, id: "" });
      // Without its token it is a session whose tokens are stored elsewhere.
      if (!token && session.state !== "ended") continue;
      decodeResult(session.user);
      const other = newest.get(userId);
      const isOlder = other && other.at > at;
      if (!isOlder) newest.set(userId, { ...session, ...(token && { token }) });
      if (other) await removeSession(isOlder ? login : other.login);
    }
    return {
      device,
      sessions: [...newest.values()].sort((a, b) => a.at - b.at),
      current: current?.userId || undefined,
    };
  }

  async function removeSession(login: string): Promise<void> {
    await store.remove(`session:${login}`);
    await secrets.remove(`user:${login}`);
  }

  /** Writes the differences, new records before deletions. */
  async function write(before: State, { device, sessions, current = "" }: State): Promise<void> {
    if (device !== before.device) await secrets.write("device", device);
    for (const session of sessions) {
      const { token, ...rest } = session;
      const { login } = rest;
      const old = before.sessions.find((other) => other.login === login);
      if (session === old) continue;
      await store.write(`session:${login}`, rest);
      if (token !== old?.token) await secrets.write(`user:${login}`, token);
    }
    if (current !== before.current) await store.write("current", { userId: current });
    for (const { login } of before.sessions)
      if (!sessions.some((session) => session.login === login)) await removeSession(login);
    tabs.announce("state");
  }

  async function load(): Promise<State> {
    loading ??= refresh();
    const first = await loading;
    return now ?? first;
  }

  return {
    get now() {
      return now;
    },
    load,
    refresh,
    async change(update) {
      const loaded = now ?? (await load());
      const base = now ?? loaded;
      const next = update(base);
      if (next === base) return;
      apply(next);
      unwritten += 1;
      await enqueue(() => write(base, next));
      unwritten -= 1;
    },
  };
}

/** The current session, if it is still valid. */
export function currentSession({ sessions, current }: State): SessionState | undefined {
  return sessions.find(({ userId, state }) => userId === current && state !== "ended");
}

function notifyChanges(before: State, { device, ...next }: State, notify: (change: Change) => void): void {
  const note = (type: Change["type"], isSo: unknown, session?: SessionState) => {
    if (isSo) notify({ type, session });
  };
  note("deviceRegistered", device && device.registered !== before.device?.registered);
  note("rootChanged", device && before.device && device.root !== before.device.root);
  let hasOtherState: boolean | undefined;
  for (const session of next.sessions) {
    const old = before.sessions.find(({ login }) => login === session.login);
    const isOpen = session.state !== "ended";
    note("signedIn", isOpen && !old, session);
    note("sessionEnded", !isOpen && old && old.state !== "ended", session);
    note("renewed", isOpen && old && session.token?.token !== old.token?.token, session);
    hasOtherState ||= isOpen && old && session.state !== old.state;
  }
  for (const session of before.sessions) {
    const isGone = !next.sessions.some(({ userId }) => userId === session.userId);
    note("signedOut", isGone && session.state !== "ended", session);
  }
  const session = currentSession(next);
  note("sessionChanged", hasOtherState || session?.login !== currentSession(before)?.login, session);
}
