import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { extended, named, type Static, Type } from "../contract/schema.ts";
import { DateRangeInput, IdInput, Integer, ObjectIdInput, RawJson, Text, WireDate } from "../contract/wire.ts";
import type { WebhookDeliveryRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { carrierKinds } from "../lib/kinds.ts";
import { EventResult, WaitSeconds } from "./events.contract.ts";

export const EventsPath = Type.Object(applicationPathParameters);
export const EventPath = Type.Object({
  ...applicationPathParameters,
  sequence: Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "The position in the log." }),
});

const typeCharactersMax = 1_000;

export const ListOperatedEvents = Type.Object({
  type: Type.Optional(
    Text({
      maxLength: typeCharactersMax,
      description: "Types such as user.disabled or checkin.*, separated by commas; all by default.",
    }),
  ),
  objectID: Type.Optional(ObjectIdInput(carrierKinds, [], { description: "Only events about this object." })),
  userID: Type.Optional(IdInput("User")),
  created: Type.Optional(DateRangeInput({ description: "The time of the write." })),
  after: Type.Optional(
    Text({
      description:
        "Reads forwards, oldest first: a currentToken of such a call, start for the oldest event that is stored, or end for none.",
    }),
  ),
  waitSeconds: Type.Optional(WaitSeconds),
  ...pagingParameters,
});

const EventActor = named(
  "EventActor",
  "The actor of the write.",
  Type.Object({
    kind: Type.String({ description: "operator, user, device, cli, nobody or system, as in the audit log." }),
    id: Type.Optional(Type.String()),
  }),
);

/** spec/events#operators-view. */
export const OperatedEvent = named(
  "OperatedEvent",
  "A change, as operators and webhooks see it.",
  Type.Object({
    ...EventResult.properties,
    objectID: Type.Optional(EventResult.properties.objectID),
    itemID: Type.Optional(Type.String({ description: "The id of the member of the object that has changed." })),
    object: Type.Optional(RawJson({ description: "The current result of an operator's GET." })),
    isGone: Type.Optional({ ...Type.Literal(true), description: "The object no longer exists." }),
    actor: Type.Optional(EventActor),
    sequence: Type.String({ description: "The position in the log: 20 digits, increasing." }),
  }),
);

export const OperatedEventPage = named(
  "OperatedEventPage",
  undefined,
  Type.Object({
    ...PageOf(OperatedEvent).properties,
    isReset: Type.Optional({
      ...Type.Literal(true),
      description: "With after: events are missing; currentToken continues with the oldest stored event.",
    }),
  }),
);

const EventDelivery = named(
  "EventDelivery",
  "The delivery of an event to a webhook.",
  Type.Object({
    webhookID: Type.String({ description: "The webhook to which the event is sent." }),
    id: { ...Type.String(), description: "The id of the delivery." },
    state: { ...Type.String(), description: "waiting, delivered, failed, dead or refused." },
    attempt: Type.Integer({ description: "Attempts so far." }),
    status: Type.Optional(Type.Integer({ description: "The status of the last answer." })),
    created: WireDate,
    nextAttempt: Type.Optional({ ...WireDate, description: "The time of the next attempt." }),
  }),
);

export const DeliveredEvent = extended("DeliveredEvent", "A change, with its deliveries.", OperatedEvent, {
  deliveries: Type.Optional({
    ...Type.Array(EventDelivery),
    description: "By webhook, oldest first, at most 100; absent if there are none.",
  }),
});

export function presentEventDelivery(row: WebhookDeliveryRow): Static<typeof EventDelivery> {
  const { webhook_id, id, state, attempt, status, created_at, next_attempt_at } = row;
  return {
    ...{ webhookID: webhook_id, id, state, attempt },
    ...(status !== null && { status }),
    created: formatDate(created_at),
    ...(next_attempt_at !== null && { nextAttempt: formatDate(next_attempt_at) }),
  };
}

export type PresentedOperatedEvent = Static<typeof OperatedEvent>;
