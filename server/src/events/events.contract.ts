import { Permission } from "../contract/permissions.ts";
import { named, type Static, Type, withLimits } from "../contract/schema.ts";
import {
  alsoAs,
  Choice,
  Integer,
  List,
  LocationRangeInput,
  ObjectIdInput,
  RawJson,
  Text,
  UserIdInput,
  WireDate,
} from "../contract/wire.ts";
import { carrierKinds } from "../lib/kinds.ts";

const typesCharactersMax = 1_000;
const keyCharactersMax = 256;
const tagCharactersMax = 256;
export const subscriptionsMax = 20;
const expirySecondsMin = 60;
const expirySecondsMax = 86_400;
export const expirySecondsDefault = 3_600;

const waitSecondsMax = 25;
export const WaitSeconds = Integer({
  minimum: 0,
  maximum: waitSecondsMax,
  default: 0,
  description: "The time to wait for an event.",
});

/** The parameters that all ways of reading events share. */
const filterProperties = {
  types: Type.Optional(
    Text({
      maxLength: typesCharactersMax,
      description: "Types such as checkin.created or checkin.*, separated by commas; all by default.",
    }),
  ),
  userID: Type.Optional(UserIdInput({ description: "Only events of this owner; me for the caller." })),
  objectID: Type.Optional(
    ObjectIdInput(carrierKinds, ["app", "current", "me"], {
      description: "Only events about this object; me, current, app.",
    }),
  ),
  locationRange: Type.Optional(LocationRangeInput({ description: "Only objects in this area." })),
  tag: Type.Optional(Text({ maxLength: tagCharactersMax, description: "Only objects with this tag." })),
  key: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only metadata with this key." })),
  keyPrefix: Type.Optional(
    Text({ maxLength: keyCharactersMax, description: "Only metadata whose key begins with this string." }),
  ),
  visibility: Type.Optional(Choice(Permission, { description: "Only metadata with this visibility." })),
};

export const EventFilterShape = Type.Object(filterProperties);

export const ListEvents = Type.Object({
  after: Type.Optional(
    alsoAs(
      "pagingToken",
      Text({ description: "A currentToken; without it, the page has no events and the current token." }),
    ),
  ),
  ...filterProperties,
  pageSize: Type.Optional(
    withLimits(Integer({ description: "The number of events." }), ({ pageItemsDefault, pageItemsMax }) => ({
      minimum: 1,
      maximum: pageItemsMax,
      default: pageItemsDefault,
    })),
  ),
  waitSeconds: Type.Optional(WaitSeconds),
});

const streamProperties = {
  after: Type.Optional(
    Text({ description: "A cursor; Last-Event-ID takes precedence. Without either, the stream begins now." }),
  ),
  ...filterProperties,
  subscriptions: Type.Optional(
    List(named("EventSubscription", "Conditions that all have to hold.", EventFilterShape), {
      minItems: 1,
      maxItems: subscriptionsMax,
      description: "In place of other filters: an event that matches any of these is sent once.",
    }),
  ),
};

export const StreamEvents = Type.Object({
  ...streamProperties,
  ticket: Type.Optional(Text({ description: "In place of a token: the ticket in a url of createEventStream." })),
});

export const CreateEventStream = Type.Object({
  ...streamProperties,
  expiresInSeconds: Type.Optional(
    Integer({
      minimum: expirySecondsMin,
      maximum: expirySecondsMax,
      default: expirySecondsDefault,
      description: "The lifetime of the url.",
    }),
  ),
});

export type StreamParameters = Static<typeof CreateEventStream>;

export const StreamTicketResult = named(
  "EventStreamUrl",
  "A url that opens streams, for clients that cannot send headers.",
  Type.Object({
    url: Type.String({ format: "uri", description: "A secret: it opens streams without a token." }),
    expires: {
      ...WireDate,
      description: "The time at which it expires, unless the session of the token ends earlier.",
    },
  }),
);

/** A response of Server-Sent Events. */
export const EventStreamBody = Type.String({ "x-media-type": "text/event-stream" });

export type EventFilters = Static<typeof EventFilterShape>;

export const EventResult = named(
  "Event",
  "A change, as the caller may see it.",
  Type.Object({
    id: Type.String({ description: "The id of the event, the same in every answer." }),
    type: Type.String({ description: "The type, such as checkin.created." }),
    created: WireDate,
    objectID: Type.String({ description: "The id of the object; of metadata, of the object that carries the key." }),
    userID: Type.Optional(Type.String({ description: "The owner." })),
    key: Type.Optional(Type.String({ description: "The key of metadata; of identities, the provider." })),
    visibility: Type.Optional(Permission),
    changed: Type.Optional({ ...Type.Array(Type.String()), description: "The names of changed fields." }),
    object: Type.Optional(RawJson({ description: "The current result of GET." })),
    isTooLarge: Type.Optional({ ...Type.Literal(true), description: "The object is larger than 32 KiB." }),
  }),
);

export type PresentedEvent = Static<typeof EventResult>;

export const EventPage = named(
  "EventPage",
  "Events in the order of the log.",
  Type.Object({
    pageResults: Type.Array(EventResult),
    currentToken: Type.String({ description: "The position to continue from." }),
    nextToken: Type.Optional(Type.String({ description: "The same token, if more events follow." })),
    isReset: Type.Optional({
      ...Type.Literal(true),
      description: "Events are missing: read all data again, then continue from currentToken.",
    }),
  }),
);
