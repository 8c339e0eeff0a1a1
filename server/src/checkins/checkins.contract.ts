import { PageOf } from "../contract/paging.ts";
import { type Static, Type } from "../contract/schema.ts";
import { LocationInput, WireLocation } from "../contract/wire.ts";
import type { CheckinRow, ShownRow } from "../db/tables.ts";
import { commonChange, commonCreation, commonResults, commonSearch, pathOf, presentCommon } from "../owned/contract.ts";
import { changesOf, inputsOf, presentFields, resultsOf, textField } from "../owned/fields.ts";
import type { OwnedKind } from "../owned/kind.ts";
import { shownLocation } from "../privacy/shown-location.ts";

const textCharactersMax = 4_000;

/** Check-ins (spec/checkins). */
export const checkinKind: OwnedKind<CheckinRow> = {
  idKind: "Checkin",
  table: "checkins",
  collection: "checkins",
  pathParameter: "checkinId",
  ...{ noun: "check-in", plural: "check-ins", tag: "Check-ins" },
  fields: [
    textField("comment", "comment", textCharactersMax),
    textField("description", "description", textCharactersMax),
  ],
  columns: ["comment", "description"],
};

const { fields } = checkinKind;

const { location: _, ...created } = commonCreation;
export const CreateCheckin = Type.Object({ location: LocationInput(), ...inputsOf(fields), ...created });

export const checkinOrders = ["created", "lastModified", "comment", "description", "tag"] as const;

/** spec/checkins#check-in-fields. */
export const Checkin = Type.Object({
  id: Type.String(),
  userID: Type.String(),
  location: WireLocation,
  ...resultsOf(fields),
  tag: Type.Optional(Type.String()),
  ...commonResults,
});

const { location, ...changed } = commonChange;
const { userID, tag, ...searched } = commonSearch(checkinKind, checkinOrders);
export const checkinContract = {
  Path: pathOf(checkinKind),
  Change: Type.Object({ location, ...changesOf(fields), ...changed }),
  Search: Type.Object({ userID, tag, ...inputsOf(fields), ...searched }),
  Result: Checkin,
  Page: PageOf(Checkin),
};

/** A check-in as this user sees it. */
export function presentCheckin(checkin: ShownRow<CheckinRow>, readerId: string): Static<typeof Checkin> {
  return {
    id: checkin.id,
    userID: checkin.user_id,
    location: shownLocation(checkin, checkin.user_id === readerId) ?? { lat: checkin.lat, lng: checkin.lng },
    ...presentFields(fields, checkin),
    ...(checkin.tag !== null && { tag: checkin.tag }),
    ...presentCommon(checkin),
  };
}
