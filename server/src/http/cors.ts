import type { ApplicationPolicy } from "../contract/policy.ts";
import { anyOrigin } from "../operations/envelope.ts";
import { ignoredHeader } from "../operations/ignored.ts";
import { rehearsedHeader } from "../operations/rehearsals.ts";
import type { Exchange } from "./exchange.ts";

const readableHeaders = [
  ...["Retry-After", "Idempotent-Replayed"],
  ...["RateLimit", "RateLimit-Policy"],
  ignoredHeader,
  rehearsedHeader,
  ...["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
];

/** The value of Access-Control-Expose-Headers: the usual headers and the given ones. */
export function exposedHeaders(others: readonly string[]): string {
  return [...new Set([...readableHeaders, ...others])].join(", ");
}

const allowedMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].join(", ");
const preflightSeconds = 86_400;

/** Allows pages of any origin to read the response, until `setOrigin` applies the settings of an application. */
export function allowAnyOrigin(exchange: Exchange, exposedHeaders: string): void {
  exchange.setHeader("access-control-allow-origin", anyOrigin);
  // Native clients send no Origin and do not need the header.
  if (exchange.headers.origin !== undefined) exchange.setHeader("access-control-expose-headers", exposedHeaders);
}

/** Restricts the allowed origin as the settings of the caller's application say. */
export function setOrigin(exchange: Exchange): void {
  const { caller } = exchange;
  if (caller === undefined || !("policy" in caller) || caller.policy.origins === undefined) return;
  exchange.setHeader("vary", "Origin");
  const origin = allowedOrigin(exchange.headers.origin, caller.policy);
  if (origin !== undefined) {
    exchange.setHeader("access-control-allow-origin", origin);
    return;
  }
  exchange.removeHeader("access-control-allow-origin");
  exchange.removeHeader("access-control-expose-headers");
}

/** Returns the value of Access-Control-Allow-Origin for a page of this origin, or undefined for no header. */
export function allowedOrigin(
  origin: string | undefined,
  policy: Pick<ApplicationPolicy, "origins">,
): string | undefined {
  if (policy.origins === undefined) return anyOrigin;
  return origin !== undefined && policy.origins.has(origin) ? origin : undefined;
}

/**
 * Whether the request is a CORS preflight; any other OPTIONS request is an unknown verb. Some clients omit
 * Access-Control-Request-Method, so an Origin is enough.
 */
export function isPreflight({ method, headers }: Exchange): boolean {
  return method === "OPTIONS" && (headers["access-control-request-method"] ?? headers.origin) !== undefined;
}

/** Answers a preflight request. It needs no token, because browsers send none. */
export function answerPreflight(exchange: Exchange): void {
  const asked = exchange.headers["access-control-request-headers"];
  if (asked !== undefined) exchange.setHeader("access-control-allow-headers", asked);
  exchange.setHeaders({
    "access-control-allow-methods": allowedMethods,
    "access-control-max-age": preflightSeconds,
    vary: "Access-Control-Request-Headers",
    "content-length": "0", // some browsers wait for a body otherwise
  });
  exchange.send(204);
}
