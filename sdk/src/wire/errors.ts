import { withoutAbsent } from "../lib/without-absent.ts";
import type { AnyCall } from "./call.ts";

/** `none`: the call had no effect. `unknown`: a write was sent, and the service may have applied it. */
export type Outcome = "none" | "unknown";

/** The details of a failed call. */
export interface FailedCall {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
}

/** The properties of every error of the client, in addition to its message. */
export interface ErrorDetails {
  readonly call?: FailedCall | undefined;
  readonly attempts?: number;
  readonly idempotencyKey?: string | undefined;
  readonly isRetryable?: boolean;
  readonly outcome?: Outcome;
  readonly cause?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** The details that a response of the service adds to its error. */
export interface ServiceErrorDetails extends ErrorDetails {
  readonly status: number;
  readonly errorNumber: number;
  readonly requestId: string;
  readonly parameter?: string | undefined;
  readonly serviceRoot?: string | undefined;
}

/** The base class of all errors of the client. `instanceof` also works across several copies of this package. */
export class RollcallError extends Error {
  /** An accessor, because minifiers rename classes. */
  static override get name(): string {
    return "RollcallError";
  }
  declare readonly name: string;
  declare readonly isRetryable: boolean;
  declare readonly outcome: Outcome;
  declare readonly call?: FailedCall;
  declare readonly attempts: number;
  declare readonly idempotencyKey?: string;
  /** How long to wait before a retry, if the service has set a time. */
  declare readonly retryAfterMs?: number;

  /** @param text follows the operation and the name in the message, where the call is known */
  constructor(text: string, { cause, ...details }: ErrorDetails = {}, name?: string) {
    const ownName = name ?? new.target.name;
    const message = details.call === undefined ? text : `${details.call.operation}: ${ownName}: ${text}`;
    super(message, cause === undefined ? undefined : { cause });
    const about = { isRetryable: false, outcome: "none", attempts: 0, ...withoutAbsent(details) };
    Object.assign(this, about, { name: ownName });
  }

  /** Whether the error has this name. Narrows the type without an import of the class. */
  is<Name extends string>(name: Name): this is this & { readonly name: Name } {
    return this.name === name;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: derived classes inherit this method
    return kindsOf(Object(value).constructor).includes(kindOf(this));
  }
}

/** The service answered with an error; `name` is the name on the wire. */
export class ServiceError extends RollcallError {
  static override get name(): string {
    return "ServiceError";
  }
  declare readonly status: number;
  declare readonly errorNumber: number;
  declare readonly requestId: string;
  /** The name of the invalid parameter. */
  declare readonly parameter?: string;
  /** The root address of the region that serves the application. */
  declare readonly serviceRoot?: string;

  constructor(text: string, details: ServiceErrorDetails) {
    super(text, details);
  }
}

/** Whether the service returned an error with this name. */
export function isNamed(error: unknown, name: string): error is ServiceError {
  return error instanceof ServiceError && error.name === name;
}

/** The service could not be reached, or the connection closed before the response was complete. */
export class ConnectionError extends RollcallError {
  static override get name(): string {
    return "ConnectionError";
  }
}

/** A time-out of the client: of an attempt, of the call with its retries, or of a stalled transfer. */
export class TimeoutError extends RollcallError {
  static override get name(): string {
    return "TimeoutError";
  }
  readonly limit: "attempt" | "total" | "stalled";

  constructor(text: string, limit: "attempt" | "total" | "stalled", details?: ErrorDetails) {
    super(text, details);
    this.limit = limit;
  }
}

/** The app aborted the call (`cause` is the reason of its signal) or closed the client. The `name` is `AbortError`. */
export class AbortedError extends RollcallError {
  static override get name(): string {
    return "AbortedError";
  }

  constructor(text: string, details?: ErrorDetails) {
    super(text, details, "AbortError");
  }
}

/** The response is not from the service, but for example from a proxy or a captive portal. */
export class UnexpectedAnswer extends RollcallError {
  static override get name(): string {
    return "UnexpectedAnswer";
  }
  declare readonly status: number;
  /** The first 200 characters of a textual response. */
  declare readonly snippet?: string;

  constructor(
    text: string,
    details: ErrorDetails & { readonly status: number; readonly snippet?: string | undefined },
  ) {
    super(text, details);
  }
}

/** The call requires a signed-in user. */
export class NotSignedIn extends RollcallError {
  static override get name(): string {
    return "NotSignedIn";
  }
}

/** The user must sign in again; `cause` is the error of the service. */
export class SessionEnded extends RollcallError {
  static override get name(): string {
    return "SessionEnded";
  }
}

/** An option, an argument or the environment is wrong; no request was sent. */
export class ConfigurationError extends RollcallError {
  static override get name(): string {
    return "ConfigurationError";
  }
}

/** Describes the call in an error, without parameters, query or token. */
export function describeCall({ operation, path }: AnyCall): FailedCall {
  return { operation: operation.id, method: operation.method, path };
}

/** A class of this package by its name, which every copy of the package has; a class of an app is only itself. */
function kindOf(type: object): unknown {
  return Object.getOwnPropertyDescriptor(type, "name")?.get?.() ?? type;
}

/** The kinds of a class and of those that it extends. */
function kindsOf(type: object | null | undefined): unknown[] {
  return type ? [kindOf(type), ...kindsOf(Object.getPrototypeOf(type))] : [];
}
