import { named, type Static, Type } from "../contract/schema.ts";
import { DateInput, IdInput, Integer, List, Members, Scalar, ScalarOrObject, Text } from "../contract/wire.ts";

export const eventsPerCallMax = 1_000;
export const valuesPerEventMax = 25;
const keyCharactersMax = 256;

const textCharactersMax = 1_000;

/** One value of an event. */
export const ValueText = named("MetricValue", "A text, a number or a truth value.", Scalar(textCharactersMax));
export const ValueName = Text({ minLength: 1, maxLength: 256, keepsEmpty: true });
const Key = Text({ minLength: 1, maxLength: keyCharactersMax, description: "The type of the event." });

export const CreateEventPath = Type.Object({ event: { ...Key, description: "The key to report under." } });

const eventParameters = {
  value: Type.Optional(
    ScalarOrObject(ValueText, { description: "The value with the name `value`; an object is taken as `values`." }),
  ),
  values: Type.Optional(
    Members(Type.Record(ValueText), { maxProperties: valuesPerEventMax, description: "Values by name." }),
  ),
  timestamp: Type.Optional(DateInput({ description: "When it happened; now by default." })),
};

/** Body of POST /metrics/events/{event} (spec/metrics#report-an-event). */
export const CreateEvent = Type.Object({
  ...eventParameters,
  timeoutInSeconds: Type.Optional(
    Integer({ minimum: 1, maximum: 31_536_000, description: "Makes it a timed event, to be ended within this time." }),
  ),
});

export const CreatedEvent = named(
  "CreatedMetricEvent",
  "A reported event.",
  Type.Object({ id: Type.String({ description: "Ends a timed event." }), success: Type.Literal(true) }),
);

/** One event of POST /metrics/events. */
export const EventItem = named("MetricEvent", "An event to report.", Type.Object({ key: Key, ...eventParameters }));
export type EventItem = Static<typeof EventItem>;

/** Body of POST /metrics/events: the events that a device collected while it was offline. */
export const CreateEvents = Type.Object({
  events: List(EventItem, { maxItems: eventsPerCallMax, description: "The events, in any order." }),
  sentAt: Type.Optional(DateInput({ description: "The time of the device's clock when it sent this." })),
});

const RejectedEvent = named(
  "RejectedMetricEvent",
  "An event that was not accepted, and why.",
  Type.Object({
    index: Type.Integer({ description: "Of the event in the call, from 0." }),
    error: Type.String({ description: "The name of the error." }),
    message: Type.String({ description: "Explains the error to people." }),
  }),
);
export type RejectedEvent = Static<typeof RejectedEvent>;

export const CreatedEvents = named(
  "CreatedMetricEvents",
  "The outcome of reported events.",
  Type.Object({
    accepted: Type.Integer({ description: "The number of stored events." }),
    rejected: Type.Array(RejectedEvent),
  }),
);

export const EventPath = Type.Object({
  event: { ...IdInput("MetricEvent"), description: "The id of the event to end." },
});

/** Listed first because clients read the first spelling. */
export const EndedEvent = named(
  "EndedMetricEvent",
  "The duration of a timed event.",
  Type.Object({
    elaspedTimeInMs: Type.Integer({
      format: "int64",
      description: "As elapsedTimeInMs, in the spelling that shipped clients read.",
    }),
    elapsedTimeInMs: Type.Integer({
      format: "int64",
      description: "The time between the report of the event and its end.",
    }),
  }),
);
