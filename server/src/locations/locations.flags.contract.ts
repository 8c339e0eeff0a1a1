import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { alsoAs, DateRangeInput, IdInput, Text, WireDate } from "../contract/wire.ts";
import type { LocationFlagRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

const reasonCharactersMax = 256;
const commentCharactersMax = 4_000;

/** spec/locations#flag-a-location. */
export const FlagLocation = Type.Object({
  flagReason: Type.Optional(Text({ maxLength: reasonCharactersMax, description: "The problem." })),
  comment: Type.Optional(Text({ maxLength: commentCharactersMax })),
});

export const LocationFlagsPath = Type.Object(applicationPathParameters);

export const ListLocationFlags = Type.Object({
  locationID: Type.Optional(IdInput("Location")),
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  created: Type.Optional(DateRangeInput({ description: "When it was created." })),
  ...pagingParameters,
});

/** spec/locations#list-flags. */
const LocationFlag = named(
  "LocationFlag",
  "A report of a location by a user.",
  Type.Object({
    id: Type.String(),
    locationID: Type.String(),
    userID: Type.String(),
    flagReason: Type.Optional(Type.String({ description: "The problem." })),
    comment: Type.Optional(Type.String()),
    created: WireDate,
    lastModified: WireDate,
  }),
);
export const LocationFlagPage = PageOf(LocationFlag);

export function presentFlag(flag: LocationFlagRow): Static<typeof LocationFlag> {
  return {
    id: flag.id,
    locationID: flag.object_id,
    userID: flag.user_id,
    ...(flag.reason !== null && { flagReason: flag.reason }),
    ...(flag.comment !== null && { comment: flag.comment }),
    created: formatDate(flag.created_at),
    lastModified: formatDate(flag.modified_at),
  };
}
