import type { LoginSocialUserRequest, LoginUserRequest, RegisterDeviceRequest } from "../generated/types.ts";
import type { Awaitable } from "../lib/awaitable.ts";
import type { Store } from "./store.ts";

/**
 * The facts that an app reports about its device. The platform is by default the runtime: `Web`, `Worker`, `Node`,
 * `Deno` or `Bun`.
 */
export interface DeviceFacts
  extends Partial<Omit<RegisterDeviceRequest, "appid" | "appkey" | "uniqueId" | "location">> {}

/** The reason why the service refuses the token of a session. */
export type EndReason = "expired" | "revoked" | "moved";

/** The session for which the app must sign in again. */
export interface EndedSession {
  readonly userId: string;
  readonly userName: string;
  readonly reason: EndReason;
}

/** The options of the device and the sessions of a client. */
export interface IdentityOptions {
  readonly appid: string;
  /** A function is called at each registration. */
  readonly appkey: string | (() => Awaitable<string>);
  readonly device?: DeviceFacts;
  /** Distinguishes clients of one application that have devices and sessions of their own. */
  readonly instance?: string;
  /** IndexedDB by default, and memory if there is none. */
  readonly store?: Store;
  /** The store for tokens; `store` by default. */
  readonly secrets?: Store;
  /** Called once for the credentials of a user whose token the service refuses; undefined ends the session. */
  readonly reauthenticate?: (ended: EndedSession) => Awaitable<LoginUserRequest | LoginSocialUserRequest | undefined>;
  /** Whether user tokens are renewed in the background; `auto` by default. */
  readonly renewal?: "auto" | "never";
  /** Further addresses that may receive the appkey. */
  readonly roots?: readonly string[];
}
