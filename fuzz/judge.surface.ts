import type { Answer } from "./connection.ts";
import type { DeclaredAnswer } from "./document.ts";
import type { Envelope, Fault } from "./envelopes.ts";
import type { Plan } from "./plan.ts";

/** Invariants of every response of every operation. */

const knownHeaders =
  /^(allow|content-(type|length|disposition|range|security-policy|location)|connection|cross-origin-resource-policy|keep-alive|date|access-control-[a-z-]+|x-(content-type-options|accel-buffering)|referrer-policy|retry-after|ratelimit(-policy)?|idempotent-replayed|rollcall-(ignored|degraded)|set-cookie|vary|etag|accept-ranges|cache-control|transfer-encoding|location|(tus|upload)-[a-z-]+)$/;

/** A client that can begin a header line controls the whole response. */
export function judgeHeaders({ headers }: Answer): Fault[] {
  const unknown = [...headers.keys()].filter((name) => !knownHeaders.test(name));
  return unknown.map((name) => ({ kind: "unknown header", details: `${name}: ${headers.get(name)}` }));
}

export function judgeBytes({ isBytes }: DeclaredAnswer, { status, headers, body }: Answer): Fault[] {
  if (!isBytes || status !== 200) return [];
  const length = headers.get("content-length");
  const faults: Fault[] = [];
  if (headers.get("x-content-type-options") !== "nosniff") faults.push({ kind: "no nosniff", details: "" });
  if (length !== undefined && body.length > Number(length)) faults.push({ kind: "length", details: length });
  const type = headers.get("content-type") ?? "";
  const isRun = /html|svg|xml|script/i.test(type);
  if (isRun && !headers.get("content-disposition")?.startsWith("attachment")) {
    faults.push({ kind: "may run in our origin", details: type });
  }
  return faults;
}

const inner =
  /\n\s+at |\.[jt]s:\d|node_modules|SQLITE_|sqlite|postgres|\b(select|insert|update|delete)\b.+\b(from|into|set)\b|constraint|ECONN|ENOENT|\/(tmp|home|root|work)\//i;

/** Error messages describe the request, and no internals. */
export function judgeMessage(plan: Plan, { message }: Envelope): Fault[] {
  if (message === undefined) return [];
  const found = inner.exec(message)?.[0];
  const isEcho = found !== undefined && plan.bytes.includes(found);
  return found === undefined || isEcho ? [] : [{ kind: "exposes internals", details: message }];
}
