import { PageOf } from "../contract/paging.ts";
import { Permission } from "../contract/permissions.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import {
  alsoAs,
  Choice,
  DateRangeInput,
  Decimal,
  Json,
  JsonMembers,
  LocationInput,
  ObjectIdInput,
  RawJson,
  Text,
  WireDate,
  WireLocation,
} from "../contract/wire.ts";
import type { MetadataRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { carrierKinds } from "../lib/kinds.ts";
import { shownLocation } from "../privacy/visibility.ts";
import { jsonOf } from "./metadata.values.ts";

export const keyCharactersMax = 256;
export const valuesMax = 100;
/** The maximum length of a value in a search. */
const filterCharactersMax = 256;

/** The slot of a key: `User` is the caller's own, `App` is shared by the application (spec/metadata#visibility). */
export type Visibility = Static<typeof Permission>;

const visibility = Type.Optional(
  alsoAs(
    "permission",
    Choice(Permission, { default: "User", description: "User: the caller's own, needs a user token. App: shared." }),
  ),
);

const id = ObjectIdInput(carrierKinds, ["app", "current", "me"], {
  description: "The id of an object, a user, a device or the application; me, current, app.",
});
export const ObjectPath = Type.Object({ id });
export const ItemPath = Type.Object({
  id,
  key: Text({ maxLength: keyCharactersMax, description: "The key of a value." }),
});

export const PutItem = Type.Object({
  value: Json({ description: "Any JSON except null, up to 32 KiB." }),
  visibility,
  location: Type.Optional(LocationInput()),
});

export const PutItems = Type.Object({
  values: JsonMembers({ maxProperties: valuesMax, description: "Values by key; a null is a value here." }),
  visibility,
});

export const OneItem = Type.Object({ visibility });

export const IncrementItem = Type.Object({
  delta: Type.Optional(Decimal({ default: 1, description: "The number to add." })),
  visibility,
});

export const itemOrders = ["created", "lastModified", "key"] as const;

export const SearchItems = Type.Object({
  key: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only this key." })),
  keyPrefix: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only keys that begin with this text." })),
  visibility,
  value: Type.Optional(
    Text({
      maxLength: filterCharactersMax,
      description: "Only items whose value is this text, number, true or false.",
    }),
  ),
  ...searchParameters("MetadataSortOrder", itemOrders),
  lastModified: Type.Optional(alsoAs("modified", DateRangeInput({ description: "When it was changed last." }))),
});

export const Item = named(
  "MetadataItem",
  "The value of a key of an object.",
  Type.Object({
    key: Type.String({ description: "The key of the value." }),
    value: RawJson({ description: "The JSON that was put." }),
    visibility: Permission,
    location: Type.Optional(WireLocation),
    created: WireDate,
    lastModified: WireDate,
  }),
);

export const ItemPage = PageOf(Item);

/** Presents an item as its reader sees it. */
export function presentItem(item: ReadItem, readerId: string | undefined): Static<typeof Item> {
  const location = locationSeen(item, readerId);
  return {
    key: item.key,
    value: jsonOf(item),
    visibility: item.slot === "" ? "App" : "User",
    ...(location !== undefined && { location }),
    created: formatDate(item.created_at),
    lastModified: formatDate(item.modified_at),
  };
}

/** The columns that are read to present an item. */
export type ReadItem = Pick<
  MetadataRow,
  | "key"
  | "value"
  | "number"
  | "slot"
  | "setter_id"
  | "lat"
  | "lng"
  | "seen_lat"
  | "seen_lng"
  | "created_at"
  | "modified_at"
> & { readonly is_location_shown: number };

/**
 * Returns the location of an item for a reader: the true location in the reader's own slot and for items that the
 * reader located.
 */
export function locationSeen(
  item: Pick<ReadItem, "slot" | "setter_id" | "lat" | "lng" | "seen_lat" | "seen_lng" | "is_location_shown">,
  readerId: string | undefined,
) {
  const isOwn = item.slot !== "" || (item.setter_id !== null && item.setter_id === readerId);
  return isOwn || item.is_location_shown === 1 ? shownLocation(item, isOwn) : undefined;
}
