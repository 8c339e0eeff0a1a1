import { ApiError } from "../errors.ts";
import type { Limit } from "../lib/token-buckets.ts";
import type { Call } from "./call.ts";

/** What an operator has set for an application, as far as calls are judged by it. */
export interface ApplicationPolicy {
  /** It is on its way to another region, and nothing is served until it is there. */
  readonly isMoving: boolean;
  /** Every operation is switched off. */
  readonly isSuspended: boolean;
  /** Operations that are switched off, as `POST /users`. */
  readonly disabledOperations: readonly OperationPattern[];
  /** The pages that may call, by their origin; undefined for any. */
  readonly origins: ReadonlySet<string> | undefined;
  readonly signing: { readonly secret: string; readonly isRequired: boolean } | undefined;
  /** In place of those of the deployment. */
  readonly tokenLifetimes: { readonly deviceMs?: number; readonly userMs?: number };
  readonly limits: PolicyLimits;
}

/** Limits of an application, in place of those of the deployment. */
export interface PolicyLimits {
  readonly application?: Limit;
  readonly caller?: Limit;
  readonly operations: readonly {
    readonly name: string;
    readonly pattern: OperationPattern;
    readonly limit: Limit;
  }[];
}

/** An operation, or some of its calls: in the path a name in braces stands for anything, also in the place of `me`. */
export interface OperationPattern {
  readonly method: string;
  readonly segments: readonly string[];
}

/** A declared operation, its parameters in braces. */
interface Operation {
  readonly method: string;
  readonly path: string;
}

/** Whose ids `me`, `current` and `app` stand for. */
interface Self {
  readonly applicationId: string;
  readonly deviceId: string;
  readonly userId: string | undefined;
}

/** @returns undefined when it is not of the form `POST /users` */
export function parseOperationPattern(text: string): OperationPattern | undefined {
  const [, method, path] = /^\s*(get|post|put|patch|delete)\s+(\/\S*)\s*$/i.exec(text) ?? [];
  if (method === undefined || path === undefined) return undefined;
  return { method: method.toUpperCase(), segments: segmentsOf(path) };
}

/** So long a client waits before it tries again. */
const movingSeconds = 10;

/** What everybody is answered while an application moves. */
export function movingError(): ApiError {
  const message = "The application is moving to another region. Try again.";
  return new ApiError("ServiceUnavailable", message, { retryAfterSeconds: movingSeconds });
}

/**
 * Refuses what the operator has switched off for the application, and everything while it moves.
 *
 * @param self who calls; undefined where nobody is known
 * @throws ApiError AuthAPICallDisabledByDeveloper, ServiceUnavailable
 */
export function requireEnabled(policy: ApplicationPolicy, route: Operation, path: Call["path"], self?: Self): void {
  if (policy.isMoving) throw movingError();
  if (policy.isSuspended) throw new ApiError("AuthAPICallDisabledByDeveloper", "The application is suspended.");
  for (const pattern of policy.disabledOperations) {
    if (isMeant(pattern, route, path, self)) throw new ApiError("AuthAPICallDisabledByDeveloper");
  }
}

/** Whether a call of an operation is one of those that the pattern stands for. An id and the word for it are the same. */
export function isMeant(
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

/** What a word stands for, in one case; anything else as it is. */
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
