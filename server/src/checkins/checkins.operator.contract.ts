import { applicationPathParameters } from "../auth/operated-application.ts";
import type { CheckinRow } from "../db/tables.ts";
import { PageOf } from "../http/paging.ts";
import { type Static, Type } from "../http/schema.ts";
import { searchParameters } from "../http/search.ts";
import { alsoAs, IdInput, WireLocation } from "../http/wire.ts";
import { Checkin, presentCheckin } from "./checkins.contract.ts";

export const OperatedCheckinsPath = Type.Object(applicationPathParameters);
export const OperatedCheckinPath = Type.Object({ ...applicationPathParameters, checkinId: IdInput("Checkin") });

export const operatedCheckinOrders = ["created"] as const;

export const SearchOperatedCheckins = Type.Object({
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  ...searchParameters(operatedCheckinOrders),
});

/** A check-in as operators see it, with its true location and the location that others see. */
export const OperatedCheckin = Type.Object({
  ...Checkin.properties,
  shownLocation: Type.Optional(WireLocation),
});
export const OperatedCheckinPage = PageOf(OperatedCheckin);

export function presentOperatedCheckin(checkin: CheckinRow): Static<typeof OperatedCheckin> {
  const { seen_lat: lat, seen_lng: lng } = checkin;
  return {
    ...presentCheckin(checkin, checkin.user_id),
    ...(lat !== null && lng !== null && { shownLocation: { lat, lng } }),
  };
}
