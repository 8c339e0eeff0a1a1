import { jsonContentType, type Reply, replyBody } from "../operations/envelope.ts";
import type { Quota } from "../operations/rate-limits.ts";
import type { Exchange } from "./exchange.ts";

export function sendReply(exchange: Exchange, reply: Reply): void {
  const retryAfterSeconds = reply.failure?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) exchange.setHeader("retry-after", retryAfterSeconds);
  if (reply.quota !== undefined) setQuota(exchange, reply.quota);
  if (reply.isReplayed) exchange.setHeader("idempotent-replayed", "true");
  exchange.setHeader("content-type", jsonContentType);
  // No cache may store envelopes: many contain tokens, and none has a defined lifetime.
  exchange.setHeader("cache-control", "no-store");
  exchange.send(reply.status, replyBody(reply, exchange.id));
}

/**
 * Sets the headers of draft-ietf-httpapi-ratelimit-headers: the size of a bucket, its remaining tokens, and the time
 * until it is full.
 */
export function setQuota(exchange: Exchange, { name, limit, left, fullInSeconds }: Quota): void {
  const { perSecond, burst } = limit;
  exchange.setHeader("ratelimit-policy", `"${name}";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
  exchange.setHeader("ratelimit", `"${name}";r=${left};t=${fullInSeconds}`);
}
