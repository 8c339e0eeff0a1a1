import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { DateRangeInput, IdInput, Integer, ObjectIdInput, RawJson, Text } from "../contract/wire.ts";
import { ownedIdKinds } from "../db/owned-tables.ts";
import { EventResult } from "./events.contract.ts";

export const EventsPath = Type.Object(applicationPathParameters);
export const EventPath = Type.Object({
  ...applicationPathParameters,
  sequence: Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: "The position in the log." }),
});

const typeCharactersMax = 1_000;
const objectKinds = [...(["App", "Device", "User"] as const), ...ownedIdKinds].toSorted();

export const ListOperatedEvents = Type.Object({
  type: Type.Optional(
    Text({
      maxLength: typeCharactersMax,
      description: "Types such as user.disabled or checkin.*, separated by commas; all by default.",
    }),
  ),
  objectID: Type.Optional(ObjectIdInput(objectKinds, [], { description: "Only events about this object." })),
  userID: Type.Optional(IdInput("User")),
  created: Type.Optional(DateRangeInput({ description: "When they were written." })),
  ...pagingParameters,
});

const EventActor = named(
  "EventActor",
  "Whose write it was.",
  Type.Object({
    kind: Type.String({ description: "operator, user, device, cli, nobody or system, as in the audit log." }),
    id: Type.Optional(Type.String()),
  }),
);

/** spec/events#operators-view. */
export const OperatedEvent = named(
  "OperatedEvent",
  "A change, as operators and their systems know it.",
  Type.Object({
    ...EventResult.properties,
    objectID: Type.Optional(EventResult.properties.objectID),
    itemID: Type.Optional(Type.String({ description: "The member of the object that it is about." })),
    object: Type.Optional(RawJson({ description: "The current result of an operator's GET." })),
    isGone: Type.Optional({ ...Type.Literal(true), description: "The object does not exist any more." }),
    actor: Type.Optional(EventActor),
    sequence: Type.String({ description: "The position in the log, 20 digits, rising." }),
  }),
);

export const OperatedEventPage = PageOf(OperatedEvent);

export type PresentedOperatedEvent = Static<typeof OperatedEvent>;
