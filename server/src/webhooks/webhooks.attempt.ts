import { version } from "../config/version.ts";
import type { WebhookRow } from "../db/tables.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { type Outgoing, type OutgoingAnswer, OutgoingError } from "../http/outgoing/outgoing.ts";
import type { Clock } from "../lib/clock.ts";
import { type OpenedWebhook, signWebhook } from "./webhooks.secrets.ts";

/** The content of a delivery attempt. */
export interface Message {
  /** The id of the event, by which the receiver recognizes repeats. */
  readonly id: string;
  readonly body: string;
  readonly attempt: number;
  readonly isReplay: boolean;
}

/** The result of an attempt. */
export type Outcome = "delivered" | "failed" | "refused" | "held" | "gone";

export interface AttemptResult {
  readonly outcome: Outcome;
  readonly status?: number;
  readonly ms?: number;
  readonly error?: string;
  readonly response?: string;
  /** How long the receiver asked for no further attempt. */
  readonly holdMs?: number;
}

const responseCharactersMax = 1_024;
const contentTypes = { standard: "application/json", cloudevents: "application/cloudevents+json" } as const;

/** Sends an event once. Never throws: the result reports every failure. */
export async function attemptDelivery(
  webhook: WebhookRow,
  { secrets, headers }: OpenedWebhook,
  { id, body, attempt, isReplay }: Message,
  { outgoing, clock }: { readonly outgoing: Outgoing; readonly clock: Clock },
): Promise<AttemptResult> {
  // The wall clock, because receivers compare it with theirs, even after this clock was set back.
  const timestamp = Math.floor(Date.now() / 1_000);
  const sent = {
    ...headers,
    "content-type": contentTypes[webhook.format],
    "user-agent": `Rollcall/${version}`,
    "webhook-id": id,
    "webhook-timestamp": `${timestamp}`,
    "webhook-signature": signWebhook(secrets, id, timestamp, body),
    "rollcall-attempt": `${attempt}`,
    ...(isReplay && { "rollcall-replay": "true" }),
  };
  const startedAt = performance.now();
  const bounds = { timeoutMs: webhook.timeout_ms, charactersMax: responseCharactersMax };
  try {
    const answer = await outgoing.post(webhook.url, { headers: sent, body }, bounds);
    return { ...judge(answer, clock.now()), ms: Math.round(performance.now() - startedAt) };
  } catch (error) {
    const problem = error instanceof OutgoingError ? error.problem : "connection";
    if (problem === "refused") return { outcome: "refused", error: problem };
    return { outcome: "failed", error: problem, ms: Math.round(performance.now() - startedAt) };
  }
}

function judge({ status, retryAfter, text }: OutgoingAnswer, now: number): AttemptResult {
  const answer = { status, response: text.replaceAll("\0", "�") };
  if (status >= 200 && status < 300) return { ...answer, outcome: "delivered" };
  if (status === 410) return { ...answer, outcome: "gone" };
  const holdMs = status === 429 || status === 503 ? readRetryAfter(retryAfter, now) : undefined;
  return holdMs === undefined ? { ...answer, outcome: "failed" } : { ...answer, outcome: "held", holdMs };
}

const holdMsMax = 3_600_000;

/** Parses seconds or a date. @returns undefined for anything else */
function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\s*\d+\s*$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(holdMsMax, Math.max(0, ms));
}

/** An event as an operator's system sees it. */
interface PresentedEvent {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly objectID?: string;
  readonly sequence: string;
  /** Serialized JSON. */
  readonly object?: string;
}

/** Presents an event with its current object; undefined for a row that is not an event. */
export type PresentEvent = (event: PlacedEvent) => Promise<PresentedEvent | undefined>;

/**
 * Writes the body of an event, for readers of CloudEvents 1.0 and of Standard Webhooks (spec/webhooks#envelope).
 *
 * @param presented the event as webhooks currently see it
 */
export function writeEnvelope(
  event: Pick<PlacedEvent, "application_id" | "at">,
  presented: PresentedEvent,
  serverUrl: string,
): string {
  const { id, type, created: _, objectID, sequence, object, ...rest } = presented;
  const time = new Date(event.at).toISOString();
  const envelope = {
    specversion: "1.0",
    id,
    source: `${serverUrl}/applications/${event.application_id}`,
    type,
    ...(objectID !== undefined && { subject: objectID }),
    time,
    timestamp: time,
    datacontenttype: "application/json",
    sequence,
  };
  const data = JSON.stringify({ ...(objectID !== undefined && { objectID }), ...rest });
  const withObject = object === undefined ? data : `${data.slice(0, -1)}${data === "{}" ? "" : ","}"object":${object}}`;
  return `${JSON.stringify(envelope).slice(0, -1)},"data":${withObject}}`;
}
