import { type Static, Type } from "../http/schema.ts";
import { DateInput, IdInput, Integer, List, Members, Scalar, Text } from "../http/wire.ts";

export const eventsPerCallMax = 1_000;
export const valuesPerEventMax = 25;
const keyCharactersMax = 256;

/** The value that is sent as `value`, and one of `values`. */
export const ValueText = Scalar({ maxLength: 1_000, description: "A text, a number or a truth value." });
export const ValueName = Text({ minLength: 1, maxLength: 256, keepsEmpty: true });
const Key = Text({ minLength: 1, maxLength: keyCharactersMax });

export const CreateEventPath = Type.Object({ key: Key });

const eventParameters = {
  value: Type.Optional(ValueText),
  values: Type.Optional(Members({ description: `Name to value, up to ${valuesPerEventMax}.` })),
  timestamp: Type.Optional(DateInput({ description: "When it happened; now, when it is not given." })),
};

/** Body of POST /metrics/events/{key} (surface.md section 9). */
export const CreateEvent = Type.Object({
  ...eventParameters,
  timeoutInSeconds: Type.Optional(
    Integer({ minimum: 1, maximum: 31_536_000, description: "Makes it a timed event, to be ended within this time." }),
  ),
});

export const CreatedEvent = Type.Object({ id: Type.String(), success: Type.Literal(true) });

/** Body of POST /metrics/events: what a device gathered while it was offline. */
export const CreateEvents = Type.Object({
  events: List({ description: `Up to ${eventsPerCallMax} of {key, value, values, timestamp}.` }),
  sentAt: Type.Optional(DateInput({ description: "What the device's clock showed when it sent this." })),
});

/** One of the events of such a call. */
export const EventItem = Type.Object({ key: Key, ...eventParameters });
export type EventItem = Static<typeof EventItem>;

const RejectedEvent = Type.Object({ index: Type.Integer(), error: Type.String(), message: Type.String() });
export type RejectedEvent = Static<typeof RejectedEvent>;

export const CreatedEvents = Type.Object({ accepted: Type.Integer(), rejected: Type.Array(RejectedEvent) });

export const EventPath = Type.Object({ id: IdInput("MetricEvent") });

/** The first spelling is the one that clients read. */
export const EndedEvent = Type.Object({ elaspedTimeInMs: Type.Integer(), elapsedTimeInMs: Type.Integer() });
