import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import { Choice, ClearableText, Flag, IdInput, Integer, List, Members, Text, WireDate } from "../contract/wire.ts";
import type { WebhookFormat, WebhookRow, WebhookState } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { headersMax, patternsMax, readStoredPatterns } from "./webhooks.fields.ts";

const urlCharactersMax = 2_048;
const nameCharactersMax = 256;
const overlapHoursMax = 168;

export const WebhooksPath = Type.Object(applicationPathParameters);
export const WebhookPath = Type.Object({ ...applicationPathParameters, webhookId: IdInput("Webhook") });

const Format = enumeration<WebhookFormat>("WebhookFormat", "The Content-Type of deliveries.", {
  standard: "application/json",
  cloudevents: "application/cloudevents+json",
});

const State = enumeration<WebhookState>("WebhookState", "Whether events are sent.", {
  active: "They are.",
  paused: "An operator has paused it.",
  failing: "The receiver does not accept events; one is sent from time to time.",
  disabled: "The receiver did not accept events for too long, or is gone.",
});

const fields = {
  name: Type.Optional(ClearableText({ maxLength: nameCharactersMax })),
  format: Type.Optional(Choice(Format, { default: "standard" })),
  headers: Type.Optional(
    Members(Type.Record(Type.String()), { maxProperties: headersMax, description: "Sent with each event; not shown." }),
  ),
  concurrency: Type.Optional(
    Integer({ minimum: 1, maximum: 16, default: 4, description: "Events under way at a time." }),
  ),
  timeoutMs: Type.Optional(
    Integer({ minimum: 1_000, maximum: 30_000, default: 15_000, description: "Of an attempt, from the look-up on." }),
  ),
  perSecond: Type.Optional(Integer({ minimum: 1, maximum: 1_000, default: 100, description: "Attempts in a second." })),
  trueLocations: Type.Optional(
    Flag({ default: false, description: "Send locations as owners of objects see them. Only owners may set it." }),
  ),
};

const Types = List(Type.String(), {
  minItems: 1,
  maxItems: patternsMax,
  description: "Patterns: types such as checkin.created, checkin.* or *.",
});
const TargetUrl = Text({
  maxLength: urlCharactersMax,
  description: "https, at port 443 or from 1024 on, that leads to public addresses only.",
});

export const CreateWebhook = Type.Object({ url: TargetUrl, types: Types, ...fields });
export const ChangeWebhook = Type.Object({ url: Type.Optional(TargetUrl), types: Type.Optional(Types), ...fields });
export const ListWebhooks = Type.Object(pagingParameters);

export type WebhookChange = Static<typeof ChangeWebhook>;

export const RotateSecret = Type.Object({
  overlapHours: Type.Optional(
    Integer({
      minimum: 0,
      maximum: overlapHoursMax,
      default: 24,
      description: "The time for which the old secret is valid, too.",
    }),
  ),
});

const ResumeFrom = enumeration("WebhookResumeFrom", "The position to continue from.", {
  stopped: "The position at which the webhook has stopped.",
  now: "With the events after the call.",
});
export const ResumeWebhook = Type.Object({ from: Type.Optional(Choice(ResumeFrom, { default: "stopped" })) });

const Secret = named(
  "WebhookSecret",
  "A secret that signs events, without its value.",
  Type.Object({
    created: WireDate,
    ends: Type.Optional({ ...WireDate, description: "When it stops signing." }),
  }),
);

const Behind = named(
  "WebhookBehind",
  "The undelivered events.",
  Type.Object({
    events: Type.Integer({ description: "Of the next 10,000 events of the log, at most 10,000." }),
    isAtLeast: Type.Optional({ ...Type.Literal(true), description: "There may be more." }),
    since: Type.Optional({ ...WireDate, description: "When the oldest of them was written." }),
  }),
);

const shown = {
  id: Type.String(),
  url: { ...Type.String(), description: "The URL that receives the events." },
  types: { ...Type.Array(Type.String()), description: "Patterns of the types that are sent." },
  name: Type.Optional(Type.String()),
  format: Format,
  headers: { ...Type.Array(Type.String()), description: "Their names." },
  concurrency: { ...Type.Integer(), description: "Events under way at a time." },
  timeoutMs: { ...Type.Integer(), description: "Of an attempt." },
  perSecond: { ...Type.Integer(), description: "Attempts in a second, at most." },
  trueLocations: { ...Type.Boolean(), description: "Locations are sent as their owners see them." },
  state: State,
  secrets: Type.Array(Secret),
  behind: Behind,
  lastSuccess: Type.Optional({ ...WireDate, description: "When an event was accepted." }),
  lastFailure: Type.Optional({ ...WireDate, description: "When an attempt failed." }),
  created: WireDate,
  lastModified: WireDate,
};

export const WebhookResult = named("Webhook", "A receiver of an application's events.", Type.Object(shown));
export const WebhookPage = PageOf(WebhookResult);

const SecretText = { ...Type.String(), description: "Shown only once." };
export const CreatedWebhook = extended("CreatedWebhook", "A new webhook.", WebhookResult, { secret: SecretText });
export const RotatedSecret = named(
  "RotatedWebhookSecret",
  "The new secret of a webhook.",
  Type.Object({
    secret: SecretText,
    previousEnds: Type.Optional({ ...WireDate, description: "When the former secret expires." }),
  }),
);

/** The undelivered events of a webhook. */
export interface Backlog {
  readonly events: number;
  /** Whether the count is a minimum. */
  readonly isAtLeast: boolean;
  readonly since: number | undefined;
}

/** @param now determines which secrets are still valid */
export function presentWebhook(row: WebhookRow, backlog: Backlog, now: number): Static<typeof WebhookResult> {
  const { events, isAtLeast, since } = backlog;
  const secrets = [
    ...(row.secret === null ? [] : [{ created: formatDate(row.secret_at) }]),
    ...(row.older_secret === null || row.older_secret_ends_at <= now
      ? []
      : [{ created: formatDate(row.older_secret_at), ends: formatDate(row.older_secret_ends_at) }]),
  ];
  return {
    id: row.id,
    url: row.url,
    types: Object.keys(readStoredPatterns(row.types)),
    ...(row.name !== "" && { name: row.name }),
    format: row.format,
    headers: JSON.parse(row.header_names), // stored by `readHeaders`
    concurrency: row.concurrency,
    timeoutMs: row.timeout_ms,
    perSecond: row.per_second,
    trueLocations: row.true_locations === 1,
    state: row.state,
    secrets,
    behind: { events, ...(isAtLeast && { isAtLeast }), ...(since !== undefined && { since: formatDate(since) }) },
    ...(row.last_success_at !== null && { lastSuccess: formatDate(row.last_success_at) }),
    ...(row.last_failure_at !== null && { lastFailure: formatDate(row.last_failure_at) }),
    created: formatDate(row.created_at),
    lastModified: formatDate(row.modified_at),
  };
}
