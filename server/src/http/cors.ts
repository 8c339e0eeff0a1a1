import type { FastifyReply, FastifyRequest } from "fastify";
import { anyOrigin } from "./envelope.ts";
import { ignoredHeader } from "./ignored.ts";
import type { ApplicationPolicy } from "./policy.ts";

const readableHeaders = [
  ...["Retry-After", "Idempotent-Replayed"],
  ...["RateLimit", "RateLimit-Policy"],
  ignoredHeader,
  ...["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
];

/** The value of Access-Control-Expose-Headers: the usual headers and the given ones. */
export function exposedHeaders(others: readonly string[]): string {
  return [...new Set([...readableHeaders, ...others])].join(", ");
}

const allowedMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].join(", ");
const preflightSeconds = 86_400;

/** Allows pages of any origin to read the response; applies until the application is known. */
export function allowAnyOrigin(reply: FastifyReply, request: FastifyRequest, exposedHeaders: string): void {
  reply.header("access-control-allow-origin", anyOrigin);
  // Native clients send no Origin and do not need the header.
  if (request.headers.origin !== undefined) reply.header("access-control-expose-headers", exposedHeaders);
}

/** Restricts the allowed origin to the settings of the caller's application. */
export function setOrigin(reply: FastifyReply, request: FastifyRequest): void {
  const { caller } = request;
  if (caller === undefined || !("policy" in caller) || caller.policy.origins === undefined) return;
  reply.header("vary", "Origin");
  const origin = allowedOrigin(request.headers.origin, caller.policy);
  if (origin !== undefined) reply.header("access-control-allow-origin", origin);
  else reply.removeHeader("access-control-allow-origin").removeHeader("access-control-expose-headers");
}

/** The value of Access-Control-Allow-Origin for a page of this origin; undefined for no header. */
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
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && (headers["access-control-request-method"] ?? headers.origin) !== undefined;
}

/** Answers a preflight request. It needs no token, because browsers send none. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  const asked = request.headers["access-control-request-headers"];
  if (asked !== undefined) reply.header("access-control-allow-headers", asked);
  reply
    .code(204)
    .headers({
      "access-control-allow-methods": allowedMethods,
      "access-control-max-age": preflightSeconds,
      vary: "Access-Control-Request-Headers",
      "content-length": "0", // some browsers wait for a body otherwise
    })
    .send();
}
