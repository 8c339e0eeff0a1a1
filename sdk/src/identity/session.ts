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

/** A token for a server of the app's own, which may put it into an HttpOnly cookie. */
export interface Handoff {
  readonly token: string;
  readonly root: string;
  readonly expires: Date;
  readonly userId: string;
}

export interface SignOutOptions extends CallOptions {
  /** Ends all sessions of the user, on all devices. Rejects, and leaves the user signed in, if the service cannot. */
  readonly everywhere?: boolean;
}

/** A user who has signed in on this device. Its members show the current state. */
export interface Session {
  readonly userId: string;
  readonly userName: string;
  /** `disabled`: the service refuses the user's calls for now. `ended`: the user has to sign in again. */
  readonly state: "active" | "disabled" | "ended";
  /** The reason why the session has ended. */
  readonly reason?: EndReason | undefined;
  readonly expires: Date;
  /** The profile as returned by the sign-in. */
  readonly user: OwnUser;
  /** Forgets the session at once, even offline, and has its token revoked as soon as the service can be reached. */
  signOut(options?: SignOutOptions): Promise<void>;
  /** The tokens of the user, on all devices. */
  tokens(options?: PageOptions): Pages<UserToken>;
  /** Signs the user out where that token is used. */
  endToken(id: string, options?: CallOptions): Promise<void>;
  /** @throws SessionEnded */
  handoff(): Handoff;
}

/** Shows a session by its latest state. */
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

  /** Ends the tokens of the user one by one, its own last, so that a failure leaves the user signed in. */
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
