import { withoutAbsent } from "../lib/without-absent.ts";
import type { AnyCall } from "./call.ts";

/** `none`: the call certainly had no effect. `unknown`: a write was sent, and it is unknown whether it was applied. */
export type Outcome = "none" | "unknown";

/** The known details of a failed call. */
export interface FailedCall {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
}

/** The members that every error of the client has besides its message. */
export interface ErrorDetails {
  readonly call?: FailedCall | undefined;
  readonly attempts?: number;
  readonly idempotencyKey?: string | undefined;
  readonly isRetryable?: boolean;
  readonly outcome?: Outcome;
  readonly cause?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** The details that an answer of the service adds to its error. */
export interface ServiceErrorDetails extends ErrorDetails {
  readonly status: number;
  readonly errorNumber: number;
  readonly requestId: string;
  readonly parameter?: string | undefined;
  readonly serviceRoot?: string | undefined;
}

/** Names the classes of an error; `Symbol.for` is the same in every copy of this package. */
const brand: symbol = Symbol.for("@rollcall/sdk error");

/** The base of all errors of the client. `instanceof` also recognizes errors of another copy of this package. */
export class RollcallError extends Error {
  static readonly kind: string = "RollcallError";
  declare readonly name: string;
  declare readonly isRetryable: boolean;
  declare readonly outcome: Outcome;
  declare readonly call?: FailedCall;
  declare readonly attempts: number;
  declare readonly idempotencyKey?: string;
  /** The time to wait before the call is made again, if the service has set it. */
  declare readonly retryAfterMs?: number;

  /** @param text follows the operation and the name in the message, where the call is known */
  constructor(text: string, { cause, ...details }: ErrorDetails = {}, name?: string) {
    const kinds = kindsOf(new.target);
    const ownName = name ?? kinds[0];
    const message = details.call === undefined ? text : `${details.call.operation}: ${ownName}: ${text}`;
    super(message, cause === undefined ? undefined : { cause });
    Object.defineProperty(this, brand, { value: [ownName, ...kinds] });
    const about = { isRetryable: false, outcome: "none", attempts: 0, ...withoutAbsent(details) };
    Object.assign(this, about, { name: ownName });
  }

  /** Whether the error has this name; narrows without importing its class. */
  is<Name extends string>(name: Name): this is this & { readonly name: Name } {
    return this.name === name;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: derived classes inherit this method
    return isInstance(this, value);
  }
}

/** The service answered with an error; `name` is the name on the wire. */
export class ServiceError extends RollcallError {
  static override readonly kind: string = "ServiceError";
  declare readonly status: number;
  declare readonly errorNumber: number;
  declare readonly requestId: string;
  /** The invalid parameter. */
  declare readonly parameter?: string;
  /** The root of the region that serves the application. */
  declare readonly serviceRoot?: string;

  constructor(text: string, details: ServiceErrorDetails, name?: string) {
    super(text, details, name);
  }
}

/** Whether the service answered with an error of this name. */
export function isNamed(error: unknown, name: string): error is ServiceError {
  return error instanceof ServiceError && error.name === name;
}

/** The service could not be reached, or the connection ended before the answer. */
export class ConnectionError extends RollcallError {
  static override readonly kind: string = "ConnectionError";
}

/** A time limit of the client has passed: of an attempt, of the whole call, or of a transfer without a byte. */
export class TimeoutError extends RollcallError {
  static override readonly kind: string = "TimeoutError";
  readonly limit: "attempt" | "total" | "stalled";

  constructor(text: string, limit: "attempt" | "total" | "stalled", details?: ErrorDetails) {
    super(text, details);
    this.limit = limit;
  }
}

/** The app aborted the call by its signal, which is the cause, or closed the client. Its `name` is `AbortError`. */
export class AbortedError extends RollcallError {
  static override readonly kind: string = "AbortedError";

  constructor(text: string, details?: ErrorDetails) {
    super(text, details, "AbortError");
  }
}

/** The answer does not come from the service: a proxy or a captive portal wrote it. */
export class UnexpectedAnswer extends RollcallError {
  static override readonly kind: string = "UnexpectedAnswer";
  declare readonly status: number;
  /** The first 200 characters, if the answer is a text. */
  declare readonly snippet?: string;

  constructor(
    text: string,
    details: ErrorDetails & { readonly status: number; readonly snippet?: string | undefined },
  ) {
    super(text, details);
  }
}

/** The call needs a user, and none is signed in. */
export class NotSignedIn extends RollcallError {
  static override readonly kind: string = "NotSignedIn";
}

/** The session of the call has ended; the cause is the error of the service. */
export class SessionEnded extends RollcallError {
  static override readonly kind: string = "SessionEnded";
}

/** The app or the environment must be changed; no request was sent. */
export class ConfigurationError extends RollcallError {
  static override readonly kind: string = "ConfigurationError";
}

/** The description of the call in an error: no parameter, query or token. */
export function describeCall({ operation, path }: AnyCall): FailedCall {
  return { operation: operation.id, method: operation.method, path };
}

function isInstance(type: typeof RollcallError, value: unknown): boolean {
  // A class that an app derives has no separate kind, and is recognized by its prototype.
  if (!Object.hasOwn(type, "kind")) return Function.prototype[Symbol.hasInstance].call(type, value);
  return Object(value)[brand]?.includes(type.kind) === true;
}

/** The kinds of a class and of those that it extends. */
function kindsOf(type: typeof RollcallError): string[] {
  return type.kind === undefined ? [] : [type.kind, ...kindsOf(Object.getPrototypeOf(type))];
}
