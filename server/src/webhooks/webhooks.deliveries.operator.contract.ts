import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { Choice, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { DeliveryState, WebhookDeliveryRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

export const DeliveryPath = Type.Object({
  ...applicationPathParameters,
  webhookId: IdInput("Webhook"),
  deliveryId: IdInput("WebhookDelivery"),
});

const State = enumeration<DeliveryState>("WebhookDeliveryState", "The state of a delivery.", {
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
  state: Type.Optional(Choice(State, { description: "Only deliveries in this state." })),
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

export const Accepted = named(
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
    state: State,
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

/** @param isEditor whether the reader may see the receiver's answer */
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
