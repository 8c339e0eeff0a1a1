import type { Awaitable } from "../lib/awaitable.ts";
import type { AnyCall } from "../wire/call.ts";
import type { ServiceError } from "../wire/errors.ts";

/** Where, and as whom, a call is sent. An empty token sends no `Authorization`. */
export interface Credentials {
  /** The address of the service, without a slash at its end. */
  readonly root: string;
  readonly token: string;
}

/** What a principal learns of each answer. */
export interface Answered {
  /** The operation that was called. */
  readonly call: AnyCall;
  /** The error of the service; absent after a success. */
  readonly error?: ServiceError | undefined;
  /** The time of the service in milliseconds; NaN or absent where the answer does not say it. */
  readonly time?: number;
}

/** The device, user or operator for whom a call is sent. */
export interface Principal {
  /** Calls of one principal share a gate. */
  readonly id: string;
  /**
   * Registers the device first where that is needed. The call may have been aborted before it is done.
   *
   * @throws NotSignedIn, SessionEnded, or the error of the registration
   */
  credentials(): Awaitable<Credentials>;
  /**
   * Called when the service has answered AuthAccessTokenInvalid; the call is repeated once with what it returns. It is not
   * called when an earlier attempt of `logoutUser`, `deleteUser` or `endToken` had an unknown outcome: that is a success.
   *
   * @throws the error of the call; it takes over `call`, `attempts`, `outcome` and `idempotencyKey` of the given one
   */
  replace?(dead: Credentials, error: ServiceError, call: AnyCall): Promise<Credentials>;
  /** Called after each answer of the service. */
  answered?(credentials: Credentials, answer: Answered): void;
}

/** A principal, or how it is found when the call begins. */
export type PrincipalSource = Principal | (() => Awaitable<Principal>);

/** The owner of certain credentials, which nothing replaces. */
export function fixedPrincipal(id: string, credentials: Credentials): Principal {
  return { id, credentials: () => credentials };
}
