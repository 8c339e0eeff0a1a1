import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, extended, named, type Static, Type } from "../contract/schema.ts";
import {
  Choice,
  ClearableText,
  DateRangeInput,
  Flag,
  IdInput,
  Integer,
  List,
  Members,
  Text,
  WireDate,
} from "../contract/wire.ts";
import type { DeliveryState, WebhookDeliveryRow, WebhookFormat, WebhookRow, WebhookState } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { readStoredPatterns } from "./webhooks.store.ts";

export const patternsMax = 50;
export const headersMax = 10;
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

export const DeliveryPath = Type.Object({
  ...applicationPathParameters,
  webhookId: IdInput("Webhook"),
  deliveryId: IdInput("WebhookDelivery"),
});

const AttemptState = enumeration<DeliveryState>("WebhookDeliveryState", "The state of a delivery.", {
  waiting: "It will be attempted.",
  delivered: "The receiver has accepted it.",
  failed: "The last attempt failed, and another one comes.",
  dead: "All attempts failed.",
  refused: "The URL leads to an address that webhooks may not reach.",
});
const Redeliverable = enumeration("WebhookRedeliverable", "Deliveries that can be sent again together.", {
  dead: "All attempts failed.",
  failed: "The last attempt failed, and the next one is made at once.",
  refused: "The URL led to an address that webhooks may not reach.",
  logged: "Every event of the log that was written in the range `created`, also what was never sent to the webhook.",
});

const filters = {
  type: Type.Optional(Text({ maxLength: 100, description: "Only events of this type." })),
  created: Type.Optional(DateRangeInput({ description: "When the delivery began." })),
};

export const ListDeliveries = Type.Object({
  state: Type.Optional(Choice(AttemptState, { description: "Only deliveries in this state." })),
  eventID: Type.Optional(IdInput("Event")),
  ...filters,
  ...pagingParameters,
});
const sequenceCharactersMax = 20;
export const RedeliverWebhook = Type.Object({
  state: Type.Optional(Choice(Redeliverable, { default: "dead" })),
  ...filters,
  created: Type.Optional(
    DateRangeInput({ description: "When the delivery began; when the event was written, which logged requires." }),
  ),
  after: Type.Optional(
    Text({ maxLength: sequenceCharactersMax, description: "With logged: next of the call before, to continue." }),
  ),
});

export const Redelivery = named(
  "WebhookRedelivery",
  "The numbers of deliveries to send again.",
  Type.Object({
    accepted: Type.Integer({ description: "The number of events, at most 10,000." }),
    next: Type.Optional(
      Type.String({ description: "With logged, if there may be more events in the range: after of the next call." }),
    ),
  }),
);

export const DeliveryResult = named(
  "WebhookDelivery",
  "The delivery of an event to a webhook.",
  Type.Object({
    id: Type.String(),
    eventID: { ...Type.String(), description: "The receiver knows it as webhook-id." },
    type: { ...Type.String(), description: "Of the event." },
    attempt: Type.Integer({ description: "Attempts so far." }),
    state: AttemptState,
    status: Type.Optional(Type.Integer({ description: "Of the last answer." })),
    ms: Type.Optional(Type.Integer({ description: "The duration of the last attempt." })),
    error: Type.Optional(Type.String({ description: "The reason for a missing answer." })),
    response: Type.Optional(
      Type.String({ description: "The first 1,024 characters of the last answer; not for viewers." }),
    ),
    created: WireDate,
    nextAttempt: Type.Optional({ ...WireDate, description: "The time of the next attempt." }),
  }),
);
export const DeliveryPage = PageOf(DeliveryResult);

/** @param isEditor whether the reader may see the receiver's response */
export function presentDelivery(row: WebhookDeliveryRow, isEditor: boolean): Static<typeof DeliveryResult> {
  return {
    id: row.id,
    eventID: row.event_id,
    type: row.type,
    attempt: row.attempt,
    state: row.state,
    ...(row.status !== null && { status: row.status }),
    ...(row.ms !== null && { ms: row.ms }),
    ...(row.error !== null && { error: row.error }),
    ...(isEditor && row.response !== null && { response: row.response }),
    created: formatDate(row.created_at),
    ...(row.next_attempt_at !== null && { nextAttempt: formatDate(row.next_attempt_at) }),
  };
}

export const TestResult = named(
  "WebhookTest",
  "The outcome of a test event.",
  Type.Object({
    status: Type.Optional(Type.Integer({ description: "Of the answer." })),
    ms: Type.Integer({ description: "Its duration." }),
    response: Type.Optional(Type.String({ description: "The first 1,024 characters of the answer." })),
    error: Type.Optional(Type.String({ description: "The reason for a missing answer." })),
  }),
);
