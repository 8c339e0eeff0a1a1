import { ApiError } from "../lib/errors.ts";
import type { Call } from "./call.ts";

/** The settings of an application that decide whether a call is accepted. */
export interface ApplicationPolicy {
  /** The application is moving to another region, and no call is served until it has moved. */
  readonly isMoving: boolean;
  /** Every operation is disabled. */
  readonly isSuspended: boolean;
  /** The disabled operations, such as `POST /users`. */
  readonly disabledOperations: readonly OperationPattern[];
  /** The origins whose pages may call; undefined for all origins. */
  readonly origins: { has(origin: string): boolean } | undefined;
  readonly signing: { readonly secret: string; readonly isRequired: boolean } | undefined;
  /** Overrides the token lifetimes of the deployment. */
  readonly tokenLifetimes: {
    readonly deviceMs?: number;
    readonly userMs?: number;
    readonly sessionMs?: number;
    readonly endOnReuse?: boolean;
  };
  readonly limits: PolicyLimits;
  /** Whether clients may rehearse failures (spec/rehearsal). */
  readonly allowsRehearsal: boolean;
  readonly email: EmailSettings;
  readonly signIn: SignInSettings;
  readonly passwords: PasswordSettings;
  /** Whether responses contain hints for the developers of the app. */
  readonly isDebugged: boolean;
}

/** Rules for the e-mail addresses of users. */
export interface EmailSettings {
  /** A change of the address requires currentPassword. */
  readonly requirePassword?: boolean;
  /** Only a mailed code changes the address: PATCH of the profile ignores it. */
  readonly changeByCode?: boolean;
}

/** How users sign in. */
export interface SignInSettings {
  /** A verified address signs its user in, like the user name. */
  readonly byEmail?: boolean;
}

/** What an application demands of new passwords, beyond the four characters of every password. */
export interface PasswordSettings {
  /** In characters. */
  readonly minLength?: number;
  /** Whether passwords that are known from breaches are refused. */
  readonly refuseBreached?: boolean;
}

/** A rate limit: a burst of `burst`, and `perSecond` continuously. */
export interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** The limits of an application, which override those of the deployment. */
export interface PolicyLimits {
  readonly application?: Limit;
  readonly caller?: Limit;
  /** The number of event streams in one process. */
  readonly streams?: number;
  readonly operations: readonly {
    readonly name: string;
    readonly pattern: OperationPattern;
    readonly limit: Limit;
  }[];
}

/** Matches an operation, or some of its calls: a name in braces matches any segment, including `me`. */
export interface OperationPattern {
  readonly method: string;
  readonly segments: readonly string[];
}

/** A declared operation, with its parameters in braces. */
interface Operation {
  readonly method: string;
  readonly path: string;
}

/** The ids that `me`, `current` and `app` refer to. */
interface Self {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly userId: string | undefined;
}

/** @returns undefined if the string does not have the form `POST /users` */
export function parseOperationPattern(text: string): OperationPattern | undefined {
  const [, method, path] = /^\s*(get|post|put|patch|delete)\s+(\/\S*)\s*$/i.exec(text) ?? [];
  if (method === undefined || path === undefined) return undefined;
  return { method: method.toUpperCase(), segments: segmentsOf(path) };
}

/** The Retry-After of a moving application. */
const movingSeconds = 10;

/** Returns the error of all calls while an application moves. */
export function movingError(): ApiError {
  const message = "The application is moving to another region. Try again.";
  return new ApiError("ServiceUnavailable", message, { retryAfterSeconds: movingSeconds });
}

/**
 * Refuses operations that an operator has disabled for the application, and all operations while it moves.
 *
 * @param self the caller; undefined before authentication
 * @throws ApiError AuthAPICallDisabledByDeveloper, ServiceUnavailable
 */
export function requireEnabled(policy: ApplicationPolicy, route: Operation, path: Call["path"], self?: Self): void {
  if (policy.isMoving) throw movingError();
  if (policy.isSuspended) throw new ApiError("AuthAPICallDisabledByDeveloper", "The application is suspended.");
  for (const pattern of policy.disabledOperations) {
    if (matchesPattern(pattern, route, path, self)) throw new ApiError("AuthAPICallDisabledByDeveloper");
  }
}

/** Whether a call matches the pattern. An id and its alias are equal. */
export function matchesPattern(
  { method, segments }: OperationPattern,
  route: Operation,
  path: Call["path"],
  self: Self | undefined,
): boolean {
  if (method !== route.method) return false;
  const named = segmentsOf(route.path);
  return (
    named.length === segments.length &&
    named.every((name, at) => {
      const meant = segments[at] ?? "";
      if (isVariable(meant)) return true;
      const asked = isVariable(name) ? String(path[name.slice(1, -1)]) : name;
      return idOf(asked, self) === idOf(meant, self);
    })
  );
}

/** Resolves an alias such as `me`, ignoring case; returns other strings in lower case. */
function idOf(text: string, self: Self | undefined): string {
  const word = text.toLowerCase();
  if (self === undefined) return word;
  const ids: Readonly<Record<string, string | undefined>> = {
    me: self.userId,
    current: self.deviceId,
    app: self.applicationId,
  };
  return (Object.hasOwn(ids, word) ? ids[word] : undefined)?.toLowerCase() ?? word;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function isVariable(segment: string): boolean {
  return segment.startsWith("{") && segment.endsWith("}");
}
