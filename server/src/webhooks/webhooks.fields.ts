import { eventTypes, matchTypes } from "../event-log/event-types.ts";
import { isUsualUrl, type Outgoing, OutgoingError } from "../http/outgoing/outgoing.ts";
import { ApiError } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";

export const patternsMax = 50;
export const headersMax = 10;
const patternCharactersMax = 100;

/**
 * Validates the type patterns of a webhook.
 *
 * @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange
 */
export function readTypes(given: readonly unknown[]): readonly string[] {
  if (given.length === 0 || given.length > patternsMax) {
    throw outOfRange("types", `must have 1 to ${patternsMax} patterns`);
  }
  return given.map((pattern) => {
    const isKnown = typeof pattern === "string" && matchTypes(pattern, eventTypes).length > 0;
    if (isKnown && pattern.length <= patternCharactersMax) return pattern.trim().toLowerCase();
    throw new ApiError("ParameterIncorrectFormat", "types must be types such as checkin.created, checkin.* or *.", {
      parameter: "types",
    });
  });
}

/** Patterns, each with the log position after which it applies. */
type PlacedPatterns = Readonly<Record<string, number>>;

export function writePatterns(patterns: readonly string[], positionOf: (pattern: string) => number): string {
  return JSON.stringify(Object.fromEntries(patterns.map((pattern) => [pattern, positionOf(pattern)])));
}

export function readStoredPatterns(types: string): PlacedPatterns {
  return JSON.parse(types); // written by `writePatterns`
}

/** Returns the types that a webhook receives, each with the log position after which it does. */
export function typesOf(types: string): ReadonlyMap<string, number> {
  const found = computed.get(types) ?? computeTypes(types);
  computed.set(types, found);
  return found;
}

const computed = new LruMap<string, ReadonlyMap<string, number>>(1_000);

function computeTypes(types: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [pattern, position] of Object.entries(readStoredPatterns(types))) {
    for (const type of matchTypes(pattern, eventTypes)) {
      found.set(type, Math.min(position, found.get(type) ?? position));
    }
  }
  return found;
}

const headerNameCharactersMax = 256;
const headerValueCharactersMax = 4_096;
const namePattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters, blanks and tabs (RFC 9110 section 5.5), without line breaks. */
const valuePattern = /^[\t\x20-\x7e]*$/;
/** Headers that Rollcall sets, headers of the connection, and headers that could carry a session. */
const ownHeaders =
  /^(?:host|connection|keep-alive|upgrade|te|trailer|expect|content-.*|transfer-encoding|cookie|proxy-.*|accept-encoding|user-agent|webhook-.*|rollcall-.*)$/;

/**
 * Validates the custom headers of a webhook.
 *
 * @throws ApiError ParameterOutOfRange
 */
export function readHeaders(given: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (name.length > headerNameCharactersMax || !namePattern.test(name)) {
      throw outOfRange("headers", `must have names of 1 to ${headerNameCharactersMax} characters of a header's name`);
    }
    if (ownHeaders.test(lower) || headers.has(lower)) throw outOfRange("headers", `must not have ${name}`);
    if (typeof value !== "string" || value.length > headerValueCharactersMax || !valuePattern.test(value)) {
      throw outOfRange("headers", `must have values of up to ${headerValueCharactersMax} visible ASCII characters`);
    }
    headers.set(lower, value);
  }
  if (headers.size > headersMax) throw outOfRange("headers", `must have at most ${headersMax} members`);
  return headers;
}

function outOfRange(parameter: string, rule: string): ApiError {
  return new ApiError("ParameterOutOfRange", `${parameter} ${rule}.`, { parameter });
}

/** How long a registration waits for name servers. Every attempt checks the URL again. */
const lookUpMs = 2_000;

const urlRule =
  "must be an https:// URL without a password or a fragment, at port 443 or from 1024 on, that leads to public addresses only";

/**
 * Validates the URL of a webhook. Accepts a name that cannot be resolved now, because every attempt checks it.
 *
 * @throws ApiError ParameterOutOfRange, which does not reveal whether a server responds there
 */
export async function requireWebhookUrl(url: string, outgoing: Outgoing): Promise<void> {
  const parsed = /[\s\p{Cc}#]/u.test(url) ? null : URL.parse(url);
  const isHttp = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  if (!isHttp || /^[^/]*\/\/[^/?]*[@\\]/.test(url)) throw outOfRange("url", urlRule);
  try {
    await outgoing.findWebhookAddresses(url, AbortSignal.timeout(lookUpMs));
  } catch (error) {
    const isRefused = error instanceof OutgoingError && error.problem === "refused";
    if (isRefused || !isUsualUrl(url)) throw outOfRange("url", urlRule);
  }
}
