import type { LoginSocialUserRequest, LoginUserRequest, RegisterDeviceRequest } from "../generated/types.ts";
import type { Awaitable } from "../lib/awaitable.ts";
import type { Store } from "./store.ts";

/** What an app reports about its device. The platform is by default the runtime: `Web`, `Worker`, `Node`, `Deno` or `Bun`. */
export interface DeviceFacts
  extends Partial<Omit<RegisterDeviceRequest, "appid" | "appkey" | "uniqueId" | "location">> {}

/** Why the service refuses the token of a session. */
export type EndReason = "expired" | "revoked" | "moved";

/** The session for which the app is asked to sign in again. */
export interface EndedSession {
  readonly userId: string;
  readonly userName: string;
  readonly reason: EndReason;
}

/** What the device and the sessions of a client need to know. */
export interface IdentityOptions {
  readonly appid: string;
  /** A function is asked at each registration. */
  readonly appkey: string | (() => Awaitable<string>);
  readonly device?: DeviceFacts;
  /** Tells clients of one application apart that have devices and sessions of their own. */
  readonly instance?: string;
  /** IndexedDB by default, and memory where there is none. */
  readonly store?: Store;
  /** Where tokens are kept; `store` by default. */
  readonly secrets?: Store;
  /** Asked once for the credentials of a user whose token the service refuses; undefined ends the session. */
  readonly reauthenticate?: (ended: EndedSession) => Awaitable<LoginUserRequest | LoginSocialUserRequest | undefined>;
  /** Whether user tokens are renewed in the background; `auto` by default. */
  readonly renewal?: "auto" | "never";
  /** Further addresses that may receive the appkey. */
  readonly roots?: readonly string[];
}
