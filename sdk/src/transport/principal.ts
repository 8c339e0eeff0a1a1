import type { Awaitable } from "../lib/awaitable.ts";
import type { AnyCall } from "../wire/call.ts";
import type { ServiceError } from "../wire/errors.ts";

/** The address and the token of a call. An empty token sends no `Authorization`. */
export interface Credentials {
  /** The address of the service, without a trailing slash. */
  readonly root: string;
  readonly token: string;
}

/** The part of an answer that a principal receives. */
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
   * Registers the device first if necessary. The call may have been aborted before that is complete.
   *
   * @throws NotSignedIn, SessionEnded, or the error of the registration
   */
  credentials(): Awaitable<Credentials>;
  /**
   * Called when the service has answered AuthAccessTokenInvalid; the call is retried once with the returned
   * credentials. It is not called when an earlier attempt of `logoutUser`, `deleteUser` or `endToken` had an unknown
   * outcome: that is a success.
   *
   * @throws the error of the call; it takes over `call`, `attempts`, `outcome` and `idempotencyKey` of the given one
   */
  replace?(dead: Credentials, error: ServiceError): Promise<Credentials>;
  /** Called after each answer of the service. */
  answered?(credentials: Credentials, answer: Answered): void;
}

/** A principal, or how it is found when the call begins. */
export type PrincipalSource = Principal | (() => Awaitable<Principal>);

/** The owner of certain credentials, which are never replaced. */
export function fixedPrincipal(id: string, credentials: Credentials): Principal {
  return { id, credentials: () => credentials };
}
