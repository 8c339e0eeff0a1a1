import type { FastifyReply, FastifyRequest } from "fastify";
import { anyOrigin } from "./envelope.ts";
import type { ApplicationPolicy } from "./policy.ts";

const readableHeaders = [
  ...["Retry-After", "Idempotent-Replayed"],
  ...["RateLimit", "RateLimit-Policy"],
  ...["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
];

/** The headers of answers that web pages may read, beside those that they always may, with these others. */
export function exposedHeaders(others: readonly string[]): string {
  return [...new Set([...readableHeaders, ...others])].join(", ");
}

const allowedMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].join(", ");
const preflightSeconds = 86_400;

/** Lets the pages of any origin read the answer: what holds until it is known which application is called. */
export function allowAnyOrigin(reply: FastifyReply, request: FastifyRequest, exposedHeaders: string): void {
  reply.header("access-control-allow-origin", anyOrigin);
  // Apps are no pages, and need not carry the list.
  if (request.headers.origin !== undefined) reply.header("access-control-expose-headers", exposedHeaders);
}

/** Narrows that to what the caller's application allows. */
export function setOrigin(reply: FastifyReply, request: FastifyRequest): void {
  const { caller } = request;
  if (caller === undefined || !("policy" in caller) || caller.policy.origins === undefined) return;
  reply.header("vary", "Origin");
  const origin = allowedOrigin(request.headers.origin, caller.policy);
  if (origin !== undefined) reply.header("access-control-allow-origin", origin);
  else reply.removeHeader("access-control-allow-origin").removeHeader("access-control-expose-headers");
}

/** What Access-Control-Allow-Origin says to a page of this origin, or undefined for nothing. */
export function allowedOrigin(
  origin: string | undefined,
  policy: Pick<ApplicationPolicy, "origins">,
): string | undefined {
  if (policy.origins === undefined) return anyOrigin;
  return origin !== undefined && policy.origins.has(origin) ? origin : undefined;
}

/**
 * Whether a browser asks with it if it may call: any other OPTIONS is a verb that there is not. What says where it comes from
 * may leave out what it would call.
 */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && (headers["access-control-request-method"] ?? headers.origin) !== undefined;
}

/** Answers what browsers ask before they call: without a token, for they send none. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): void {
  const asked = request.headers["access-control-request-headers"];
  if (asked !== undefined) reply.header("access-control-allow-headers", asked);
  reply
    .code(204)
    .headers({
      "access-control-allow-methods": allowedMethods,
      "access-control-max-age": preflightSeconds,
      vary: "Access-Control-Request-Headers",
      "content-length": "0", // some browsers would wait for a body
    })
    .send();
}
