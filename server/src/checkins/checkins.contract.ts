import type { CheckinRow } from "../db/tables.ts";
import { PageOf, pagingParameters } from "../http/paging.ts";
import { type Static, Type } from "../http/schema.ts";
import { DateRangeInput, IdInput, LocationInput, Text, WireDate, WireLocation } from "../http/wire.ts";
import { formatDate } from "../lib/dates.ts";

const textCharactersMax = 4_000;

export const CreateCheckin = Type.Object({
  location: LocationInput(),
  comment: Type.Optional(Text({ maxLength: textCharactersMax })),
  description: Type.Optional(Text({ maxLength: textCharactersMax })),
});

export const SearchCheckins = Type.Object({
  created: Type.Optional(DateRangeInput()),
  lastModified: Type.Optional(DateRangeInput()),
  ...pagingParameters,
});

export const CheckinPath = Type.Object({ checkinId: IdInput("Checkin") });

/** service.md "Check-in". */
export const Checkin = Type.Object({
  id: Type.String(),
  userID: Type.String(),
  location: WireLocation,
  comment: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  created: WireDate,
  lastModified: WireDate,
});

export const CheckinPage = PageOf(Checkin);

export function presentCheckin(checkin: CheckinRow): Static<typeof Checkin> {
  return {
    id: checkin.id,
    userID: checkin.user_id,
    location: { lat: checkin.lat, lng: checkin.lng },
    ...(checkin.comment !== null && { comment: checkin.comment }),
    ...(checkin.description !== null && { description: checkin.description }),
    created: formatDate(checkin.created_at),
    lastModified: formatDate(checkin.modified_at),
  };
}
