import { named, type Static, Type } from "../contract/schema.ts";
import { RawJson } from "../contract/wire.ts";
import { EventResult } from "./events.contract.ts";

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
    object: Type.Optional(RawJson({ description: "What a GET of an operator answers now." })),
    isGone: Type.Optional({ ...Type.Literal(true), description: "The object does not exist any more." }),
    actor: Type.Optional(EventActor),
    sequence: Type.String({ description: "The position in the log, 20 digits, rising." }),
  }),
);

export type PresentedOperatedEvent = Static<typeof OperatedEvent>;
