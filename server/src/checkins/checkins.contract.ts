import { named, type Static, Type } from "../contract/schema.ts";
import { WireLocation } from "../contract/wire.ts";
import type { CheckinRow, ShownRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { ownedContract, presentOwned } from "../owned/contract.ts";
import { textField, timeField } from "../owned/fields.ts";
import { type OwnedKind, ownKind } from "../owned/kind.ts";
import { shownLocation } from "../privacy/visibility.ts";

const textCharactersMax = 4_000;

/** Check-ins (spec/checkins). */
export const checkinKind: OwnedKind<CheckinRow> = {
  ...ownKind("Checkin"),
  noun: "check-in",
  plural: "check-ins",
  fields: [
    textField("comment", "comment", textCharactersMax),
    textField("description", "description", textCharactersMax),
    timeField("occurred", "occurred_at", "When it happened; absent if it was created then."),
  ],
  columns: ["location_id", "location_name"],
  placeColumns: (place) => ({ location_id: place?.id ?? null, location_name: place?.name ?? null }),
};

const { fields } = checkinKind;

const futureMsMax = 300_000; // clocks of devices differ
const pastMsMax = 31_536_000_000; // a year

/** @throws ApiError ParameterOutOfRange for an implausible time */
export function requireRecent(occurred: number, now: number): void {
  if (occurred <= now + futureMsMax && occurred >= now - pastMsMax) return;
  const message = "occurred must be within the last year, and at most five minutes in the future.";
  throw new ApiError("ParameterOutOfRange", message, { parameter: "occurred" });
}

export const checkinOrders = ["created", "lastModified", "occurred", "comment", "description", "tag"] as const;

/** spec/checkins#named-locations. */
const CheckinLocation = named(
  "CheckinLocation",
  "The location of a check-in.",
  Type.Object({
    ...WireLocation.properties,
    id: Type.Optional(Type.String({ description: "Of the location that was sent by its id." })),
    name: Type.Optional(Type.String({ description: "Of that location, at that time." })),
  }),
);

/** spec/checkins#check-in-fields. */
export const checkinContract = ownedContract(checkinKind, "A check-in of a user.", CheckinLocation, checkinOrders);

/**
 * Presents a check-in to a user.
 *
 * @param readable the ids of {@link placesForOthers} that this user may read
 */
export function presentCheckin(
  checkin: ShownRow<CheckinRow>,
  readerId: string,
  readable: ReadonlySet<string> = new Set(),
): Static<typeof checkinContract.Result> {
  const isOwn = checkin.user_id === readerId;
  const { location_id: id, location_name: name } = checkin;
  const isNamed =
    id !== null && name !== null && (isOwn || placesForOthers([checkin]).some((each) => readable.has(each)));
  const location = shownLocation(checkin, isOwn) ?? { lat: checkin.lat, lng: checkin.lng };
  return presentOwned(checkin, fields, { location: isNamed ? { ...location, id, name } : location });
}

/**
 * Lists the location ids that check-ins show to other users who may read the locations. A fuzzed check-in shows none, because
 * the named location would reveal the true one (spec/checkins#named-locations).
 */
export function placesForOthers(checkins: readonly ShownRow<CheckinRow>[]): readonly string[] {
  return checkins.filter(({ seen_lat }) => seen_lat === null).flatMap(({ location_id }) => location_id ?? []);
}
