import { newUuid } from "../lib/uuid.ts";
import type { AnyCall } from "../wire/call.ts";
import { ConfigurationError, describeCall, type ErrorDetails } from "../wire/errors.ts";
import type { Repeatability } from "./answer.ts";

/** A call with the idempotency key that makes its retries safe. */
export interface KeyedCall extends Repeatability {
  readonly call: AnyCall;
  readonly key: string | undefined;
  attempts: number;
  /** Whether an attempt of a write may have been done. */
  isUncertain: boolean;
}

/**
 * @param ownKey the key of the app, for the repeat of an earlier call
 * @throws ConfigurationError for a value that is not a call, such as a function that returns one
 */
export function keyCall(call: AnyCall, ownKey: string | undefined): KeyedCall {
  if (!call?.operation) throw new ConfigurationError("call must be the result of a function, not the function");
  const { isIdempotent, isRepeatable, method } = call.operation;
  const isRead = method === "GET";
  const key = isIdempotent ? (ownKey ?? newUuid()) : undefined;
  return { call, key, isRead, canRepeat: isRead || isIdempotent || !!isRepeatable, attempts: 0, isUncertain: false };
}

/** The details of the error of a call. */
export function detailsOf({ call, attempts, key, isUncertain }: KeyedCall, isRetryable: boolean): ErrorDetails {
  const outcome = isUncertain ? "unknown" : "none";
  return { call: describeCall(call), attempts, idempotencyKey: key, outcome, isRetryable };
}

/**
 * Prepares what a call sends, from values of the app.
 *
 * @param secretRule the message where that of the failure may contain the value
 * @throws ConfigurationError
 */
export function prepare<T>(keyed: KeyedCall, work: () => T, secretRule?: string): T {
  let problem = 'ids and keys must not be missing, empty, "." or ".."';
  // Such an address would be that of another operation.
  if (!/\/\.{0,2}(\/|$)/.test(keyed.call.path)) {
    try {
      return work();
    } catch (error) {
      problem = secretRule ?? `${Object(error).message}`;
    }
  }
  throw new ConfigurationError(problem, detailsOf(keyed, false));
}
