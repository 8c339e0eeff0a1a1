import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { Permission } from "../contract/permissions.ts";
import { extended, type Static, Type } from "../contract/schema.ts";
import { alsoAs, Choice, IdInput, ObjectIdInput, Text, WireLocation } from "../contract/wire.ts";
import type { MetadataRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { carrierKinds } from "../lib/kinds.ts";
import { Item, keyCharactersMax } from "./metadata.contract.ts";
import { jsonOf } from "./metadata.values.ts";

export const OperatedObjectPath = Type.Object({
  ...applicationPathParameters,
  objectId: ObjectIdInput(carrierKinds, [], {
    description: "The id of an object, a user, a device or the application.",
  }),
});

export const ListOperatedItems = Type.Object({
  key: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only this key." })),
  keyPrefix: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only keys that begin with this text." })),
  visibility: Type.Optional(
    Choice(Permission, {
      description: "User: private to a user. App: shared. Both by default.",
    }),
  ),
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  ...pagingParameters,
});

/** An item as operators see it, with its user and its true location. */
const OperatedItem = extended("OperatedMetadataItem", "The value of a key of an object, as operators see it.", Item, {
  userID: Type.Optional(Type.String({ description: "The user whose own slot holds the item." })),
  setterID: Type.Optional(Type.String({ description: "The user who set the location of a shared slot." })),
  shownLocation: Type.Optional({ ...WireLocation, description: "The location that others see, if it differs." }),
});
export const OperatedItemPage = PageOf(OperatedItem);

export function presentOperatedItem(item: MetadataRow): Static<typeof OperatedItem> {
  const { lat, lng, seen_lat, seen_lng } = item;
  return {
    key: item.key,
    value: jsonOf(item),
    visibility: item.slot === "" ? "App" : "User",
    ...(item.slot !== "" && { userID: item.slot }),
    ...(item.setter_id !== null && { setterID: item.setter_id }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    ...(seen_lat !== null && seen_lng !== null && { shownLocation: { lat: seen_lat, lng: seen_lng } }),
    created: formatDate(item.created_at),
    lastModified: formatDate(item.modified_at),
  };
}
