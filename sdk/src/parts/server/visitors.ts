import { createUser, loginSocialUser, loginUser } from "../../generated/calls.ts";
import type { CreateUserRequest, LoginSocialUserRequest, LoginUserRequest, OwnUser } from "../../generated/types.ts";
import { type HasInside, inside } from "../../identity/inside.ts";
import type { Handoff } from "../../identity/session.ts";
import type { Login, LoginCall } from "../../identity/sessions.ts";
import type { CallOptions } from "../../transport/options.ts";
import { ConfigurationError } from "../../wire/errors.ts";

/** A session whose token the caller stores, for example in an HttpOnly cookie. */
export interface VisitorSession extends Handoff {
  /** The profile as returned by the sign-in. */
  readonly user: OwnUser;
}

/** Sign-ins of the visitors of a site. */
export interface Visitors {
  signUp(input: CreateUserRequest, options?: CallOptions): Promise<VisitorSession>;
  signIn(input: LoginUserRequest, options?: CallOptions): Promise<VisitorSession>;
  signInSocial(
    input: LoginSocialUserRequest,
    options?: CallOptions,
  ): Promise<VisitorSession & { readonly isNew: boolean }>;
}

/**
 * Signs visitors in at a server, with its device. The client stores nothing about them, and ends no other session of
 * the same user: a session lasts until `logoutUser` is sent with its token, or the token expires.
 *
 * @throws ConfigurationError if there is no client
 */
export function visitors(client: HasInside): Visitors {
  if (!Object(client)[inside]) throw new ConfigurationError("visitors: client must be the result of createRollcall.");
  const login = (call: LoginCall, options?: CallOptions) => client[inside].login(call, options);
  return {
    signUp: async (input, options) => sessionOf(await login(createUser(input), options)),
    signIn: async (input, options) => sessionOf(await login(loginUser(input), options)),
    async signInSocial(input, options) {
      const done = await login(loginSocialUser(input), options);
      return { ...sessionOf(done), isNew: "isNew" in done.user && done.user.isNew };
    },
  };
}

function sessionOf({ user, token: { token, root, expires } }: Login): VisitorSession {
  const { accessToken, accessTokenExpires, isNew, ...profile } = { isNew: false, ...user };
  return { token, root, expires: new Date(expires), userId: profile.id, user: profile };
}
