import type { ShownCheckinRow } from "../db/tables.ts";
import { PageOf } from "../http/paging.ts";
import { permissionParameters, permissionResults, presentPermissions } from "../http/permissions.ts";
import { type Static, Type } from "../http/schema.ts";
import { searchParameters } from "../http/search.ts";
import {
  alsoAs,
  ClearableText,
  IdInput,
  LocationInput,
  Text,
  UserIdInput,
  WireDate,
  WireLocation,
} from "../http/wire.ts";
import { formatDate } from "../lib/dates.ts";
import { shownLocation } from "../privacy/shown-location.ts";

const textCharactersMax = 4_000;
const tagCharactersMax = 256;

export const CreateCheckin = Type.Object({
  location: LocationInput(),
  comment: Type.Optional(Text({ maxLength: textCharactersMax })),
  description: Type.Optional(Text({ maxLength: textCharactersMax })),
  tag: Type.Optional(Text({ maxLength: tagCharactersMax })),
  ...permissionParameters,
});

export const ChangeCheckin = Type.Object({
  location: Type.Optional(LocationInput()),
  comment: Type.Optional(ClearableText({ maxLength: textCharactersMax })),
  description: Type.Optional(ClearableText({ maxLength: textCharactersMax })),
  tag: Type.Optional(ClearableText({ maxLength: tagCharactersMax })),
  ...permissionParameters,
});

export const checkinOrders = ["created", "lastModified", "comment", "description", "tag"] as const;

export const SearchCheckins = Type.Object({
  userID: Type.Optional(
    alsoAs("ownerID", UserIdInput({ description: "Only check-ins of this user; me for one's own." })),
  ),
  tag: Type.Optional(Text({ maxLength: tagCharactersMax })),
  comment: Type.Optional(Text({ maxLength: textCharactersMax })),
  description: Type.Optional(Text({ maxLength: textCharactersMax })),
  ...searchParameters(checkinOrders),
});

export const CheckinPath = Type.Object({ checkinId: IdInput("Checkin") });

/** spec/checkins#check-in-fields. */
export const Checkin = Type.Object({
  id: Type.String(),
  userID: Type.String(),
  location: WireLocation,
  comment: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  tag: Type.Optional(Type.String()),
  ...permissionResults,
  created: WireDate,
  lastModified: WireDate,
});

export const CheckinPage = PageOf(Checkin);

/** A check-in as this user sees it. */
export function presentCheckin(checkin: ShownCheckinRow, readerId: string): Static<typeof Checkin> {
  return {
    id: checkin.id,
    userID: checkin.user_id,
    location: shownLocation(checkin, checkin.user_id === readerId) ?? { lat: checkin.lat, lng: checkin.lng },
    ...(checkin.comment !== null && { comment: checkin.comment }),
    ...(checkin.description !== null && { description: checkin.description }),
    ...(checkin.tag !== null && { tag: checkin.tag }),
    ...presentPermissions(checkin),
    created: formatDate(checkin.created_at),
    lastModified: formatDate(checkin.modified_at),
  };
}
