import { type Static, Type } from "../contract/schema.ts";
import { DateInput, IdInput, Integer, List, Members, Scalar, ScalarOrMembers, Text } from "../contract/wire.ts";

export const eventsPerCallMax = 1_000;
export const valuesPerEventMax = 25;
const keyCharactersMax = 256;

const textCharactersMax = 1_000;

/** One value of an event. */
export const ValueText = Scalar({ maxLength: textCharactersMax, description: "A text, a number or a truth value." });
export const ValueName = Text({ minLength: 1, maxLength: 256, keepsEmpty: true });
const Key = Text({ minLength: 1, maxLength: keyCharactersMax });

export const CreateEventPath = Type.Object({ key: Key });

const eventParameters = {
  value: Type.Optional(
    ScalarOrMembers({
      maxLength: textCharactersMax,
      description: "A text, a number or a truth value; an object is taken as `values`.",
    }),
  ),
  values: Type.Optional(Members({ description: `Name to value, up to ${valuesPerEventMax}.` })),
  timestamp: Type.Optional(DateInput({ description: "When it happened; now, when it is not given." })),
};

/** Body of POST /metrics/events/{key} (spec/metrics#report-an-event). */
export const CreateEvent = Type.Object({
  ...eventParameters,
  timeoutInSeconds: Type.Optional(
    Integer({ minimum: 1, maximum: 31_536_000, description: "Makes it a timed event, to be ended within this time." }),
  ),
});

export const CreatedEvent = Type.Object({ id: Type.String(), success: Type.Literal(true) });

/** Body of POST /metrics/events: the events that a device gathered while it was offline. */
export const CreateEvents = Type.Object({
  events: List({ description: `Up to ${eventsPerCallMax} of {key, value, values, timestamp}.` }),
  sentAt: Type.Optional(DateInput({ description: "What the device's clock showed when it sent this." })),
});

/** One event of POST /metrics/events. */
export const EventItem = Type.Object({ key: Key, ...eventParameters });
export type EventItem = Static<typeof EventItem>;

const RejectedEvent = Type.Object({ index: Type.Integer(), error: Type.String(), message: Type.String() });
export type RejectedEvent = Static<typeof RejectedEvent>;

export const CreatedEvents = Type.Object({ accepted: Type.Integer(), rejected: Type.Array(RejectedEvent) });

export const EventPath = Type.Object({ id: IdInput("MetricEvent") });

/** Listed first because clients read the first spelling. */
export const EndedEvent = Type.Object({ elaspedTimeInMs: Type.Integer(), elapsedTimeInMs: Type.Integer() });
