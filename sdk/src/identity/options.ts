import type { LoginSocialUserRequest, LoginUserRequest, RegisterDeviceRequest } from "../generated/types.ts";
import type { Awaitable } from "../lib/awaitable.ts";
import type { Store } from "./store.ts";

/**
 * The facts that an app reports about its device. The platform is by default the runtime: `Web`, `Worker`, `Node`,
 * `Deno` or `Bun`.
 */
export interface DeviceFacts
  extends Partial<Omit<RegisterDeviceRequest, "appid" | "appkey" | "uniqueId" | "location">> {}

/** Why the service refuses the token of a session. */
export type EndReason = "expired" | "revoked" | "moved";

/** The session for which the app must sign in again. */
export interface EndedSession {
  readonly userId: string;
  readonly userName: string;
  readonly reason: EndReason;
}

/** The options for the device and the sessions of a client. */
export interface IdentityOptions {
  readonly appid: string;
  /** The facts, or a function that is called at each registration. */
  readonly appkey: string | (() => Awaitable<string>);
  readonly device?: DeviceFacts;
  /** A name that separates the devices and sessions of several clients of one application. */
  readonly instance?: string;
  /** Where the device and the sessions are stored. By default IndexedDB, or memory where it is missing. */
  readonly store?: Store;
  /** A separate store for tokens; by default the same as `store`. */
  readonly secrets?: Store;
  /** Called once to get credentials for a user whose token was refused; undefined ends the session. */
  readonly reauthenticate?: (ended: EndedSession) => Awaitable<LoginUserRequest | LoginSocialUserRequest | undefined>;
  /** Whether user tokens are renewed in the background; `auto` by default. */
  readonly renewal?: "auto" | "never";
  /** Other root addresses to which the client may send the appkey. */
  readonly roots?: readonly string[];
}
