import { endToken, listTokens } from "../generated/calls.ts";
import type { OwnUser, UserToken } from "../generated/types.ts";
import { printable } from "../lib/printable.ts";
import { createPages, type PageOptions, type Pages } from "../pages/pages.ts";
import type { CallOptions, Sent } from "../transport/options.ts";
import type { Call } from "../wire/call.ts";
import { SessionEnded } from "../wire/errors.ts";
import type { IdentityClient } from "./client.ts";
import type { Identity } from "./identity.ts";
import type { EndReason } from "./options.ts";
import type { SessionState } from "./state.ts";

/** A session token for the app's backend, which may store it in an HttpOnly cookie. */
export interface Handoff {
  readonly token: string;
  readonly root: string;
  readonly expires: Date;
  readonly userId: string;
}

export interface SignOutOptions extends CallOptions {
  /** Signs the user out on all devices. If the service cannot do so, rejects and the user stays signed in. */
  readonly everywhere?: boolean;
}

/** A user's session on this device. Its properties always show the current state. */
export interface Session {
  readonly userId: string;
  readonly userName: string;
  /** `disabled`: the service currently refuses the user's calls. `ended`: the user must sign in again. */
  readonly state: "active" | "disabled" | "ended";
  /** Why the user must sign in again; only in the state `ended`. */
  readonly reason?: EndReason | undefined;
  readonly expires: Date;
  /** The user's profile, as returned by the sign-in. */
  readonly user: OwnUser;
  /** Signs out immediately, even offline. The token is revoked as soon as the service can be reached. */
  signOut(options?: SignOutOptions): Promise<void>;
  /** Lists the user's tokens on all devices. */
  tokens(options?: PageOptions): Pages<UserToken>;
  /** Revokes one of the user's tokens, which signs the user out where it is used. */
  endToken(id: string, options?: CallOptions): Promise<void>;
  /** @throws SessionEnded */
  handoff(): Handoff;
}

/** Creates a session object that reads the latest state. */
export function createSession(first: SessionState, { sessions }: Identity, client: IdentityClient): Session {
  let last = first;
  const { login, userId } = first;

  function latest(): SessionState {
    const found = sessions.find(userId);
    last = found?.login === login ? found : { ...last, state: "ended" };
    return last;
  }

  function send<T>(call: Call<T>, options: CallOptions = {}): Sent<T> {
    return client.transport.send(call, sessions.principal(client, call, userId), options);
  }

  const listed = (options?: PageOptions) =>
    createPages<UserToken>((pagingToken, options) => send(listTokens({ pagingToken }), options), options);

  /** Revokes the user's tokens one by one, the current token last, so that the user stays signed in after a failure. */
  async function endAll(options: CallOptions): Promise<void> {
    const tokens: UserToken[] = [];
    for await (const token of listed(options)) tokens.push(token);
    for (const { id } of tokens.sort((a, b) => Number(a.current) - Number(b.current)))
      await send(endToken(id), options);
    await sessions.forget(userId);
  }

  return printable<Session>({
    userId,
    get userName() {
      return latest().userName;
    },
    get state() {
      return latest().state;
    },
    get reason() {
      return latest().reason;
    },
    get expires() {
      const { token, expires = 0 } = latest();
      return new Date(token?.expires ?? expires);
    },
    get user() {
      return latest().user as unknown as OwnUser;
    },
    async signOut({ everywhere = false, ...options } = {}) {
      if (sessions.find(userId)?.login !== login) return;
      await (everywhere ? endAll(options) : sessions.signOut(client, userId, options));
    },
    tokens: listed,
    endToken: (id, options) => send(endToken(id), options),
    handoff() {
      const { state, token, userId } = latest();
      if (state === "ended" || token === undefined) throw new SessionEnded("handoff: the session has ended");
      return { token: token.token, root: token.root, expires: new Date(token.expires), userId };
    },
  });
}
