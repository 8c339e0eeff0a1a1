import { mayDo } from "../config/roles.ts";
import type { OperatorCaller } from "../contract/route.ts";
import type { WebhookRow } from "../db/tables.ts";
import { eventTypes, matchTypes } from "../event-log/event-types.ts";
import { isUsualUrl, type Outgoing, OutgoingError } from "../http/outgoing/outgoing.ts";
import { ApiError } from "../lib/errors.ts";
import type { Services } from "../operations/services.ts";
import { headersMax, patternsMax, type WebhookChange } from "./webhooks.operator.contract.ts";
import { healthyColumns } from "./webhooks.results.ts";
import type { WebhookColumns } from "./webhooks.store.ts";

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
function readHeaders(given: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
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

/** The columns of a new webhook whose fields a request does not set. */
export const newColumns = {
  ...{ name: "", url: "", format: "standard", header_names: "[]", headers: null },
  ...{ concurrency: 4, timeout_ms: 15_000, per_second: 100, true_locations: 0 },
  ...{ state: "active", older_secret: null, older_secret_at: 0, older_secret_ends_at: 0 },
  ...{ turn: 0, lease_holder: "", lease_ends_at: 0, wake_at: null },
  ...{ ...healthyColumns, last_success_at: null, last_failure_at: null, mail_due_at: null },
  ...{ tests: 0, tests_since: 0 },
} as const satisfies WebhookColumns;

/** Returns the columns that a request changes. @throws ApiError ParameterIncorrectFormat, ParameterOutOfRange */
export function readColumns(
  appid: string,
  id: string,
  { url, name, format, headers, concurrency, timeoutMs, perSecond, trueLocations }: WebhookChange,
  { webhookSealer }: Pick<Services, "webhookSealer">,
): WebhookColumns {
  const ownHeaders = headers === undefined ? undefined : readHeaders(headers);
  return {
    ...(url !== undefined && { url }),
    ...(name !== undefined && { name }),
    ...(format !== undefined && { format }),
    ...(ownHeaders !== undefined && {
      header_names: JSON.stringify([...ownHeaders.keys()]),
      headers: webhookSealer.sealHeaders(appid, id, ownHeaders),
    }),
    ...(concurrency !== undefined && { concurrency }),
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    ...(perSecond !== undefined && { per_second: perSecond }),
    ...(trueLocations !== undefined && { true_locations: trueLocations ? 1 : 0 }),
  };
}

/**
 * Only owners may let a webhook send true locations, or change the URL of one that does.
 *
 * @throws ApiError ObjectPermissionDenied
 */
export function requireOwnerFor(
  { url, headers, trueLocations }: WebhookChange,
  current: WebhookRow | undefined,
  { role }: OperatorCaller,
): void {
  const isTrue = current?.true_locations === 1;
  const isSwitched = trueLocations !== undefined && trueLocations !== isTrue;
  const isLedElsewhere = isTrue && (url !== undefined || headers !== undefined);
  if ((isSwitched || isLedElsewhere) && !mayDo(role, "owner")) throw new ApiError("ObjectPermissionDenied");
}
