import { PageOf } from "../contract/paging.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { Flag, LocationInput, Text, Url, WireLocation } from "../contract/wire.ts";
import { middleOf } from "../db/search/area.ts";
import type { LocationRow, ShownRow } from "../db/tables.ts";
import { distanceMeters, type LocationRange } from "../lib/locations.ts";
import { commonChange, commonCreation, commonResults, commonSearch, pathOf, presentOwned } from "../owned/contract.ts";
import {
  changesOf,
  filtersOf,
  inputsOf,
  resultsOf,
  textField,
  textFieldOf,
  unsearchedTextField,
} from "../owned/fields.ts";
import { type OwnedKind, ownKind } from "../owned/kind.ts";
import { shownLocation } from "../privacy/visibility.ts";

const charactersMax = 256;
const descriptionCharactersMax = 4_000;

/** Locations (spec/locations). */
export const locationKind: OwnedKind<LocationRow> = {
  ...ownKind("Location"),
  noun: "location",
  plural: "locations",
  fields: [
    textFieldOf("name", "name", Text({ maxLength: charactersMax, minLength: 1 })),
    textField("address1", "address1", charactersMax),
    textField("address2", "address2", charactersMax),
    textField("city", "city", charactersMax),
    textField("region", "region", charactersMax),
    textField("country", "country", charactersMax),
    textField("postalCode", "postal_code", charactersMax),
    textField("phone", "phone", charactersMax),
    textField("fax", "fax", charactersMax),
    textFieldOf(
      "website",
      "website",
      Url({ maxLength: charactersMax }),
      Url({ maxLength: charactersMax, keepsEmpty: true }),
    ),
    textField("category", "category", charactersMax, "The kind of the location, defined by the app."),
    unsearchedTextField("description", "description", descriptionCharactersMax),
  ],
};

const { fields } = locationKind;
const ownResults = resultsOf(fields);
const shared = {
  isPublic: Type.Optional(Flag({ description: "true for readPermissions App, where that is not sent." })),
};

const { location: _, ...created } = commonCreation;
const required = { ...inputsOf(fields), name: Text({ maxLength: charactersMax }), location: LocationInput() };

/** spec/locations#public-locations: without permissions, which are fixed for public objects. */
export const CreatePublicLocation = Type.Object({ ...required, tag: commonCreation.tag });
export const ChangePublicLocation = Type.Object({
  ...changesOf(fields),
  tag: commonChange.tag,
  location: commonChange.location,
});

/** The columns of fields that the client did not send. */
export const noFields = {
  ...{ address1: null, address2: null, city: null, region: null, country: null, postal_code: null },
  ...{ phone: null, fax: null, website: null, category: null, description: null },
};

/** spec/locations#location-fields. */
const result = {
  id: Type.String(),
  userID: Type.Optional(Type.String({ description: "Absent for public locations." })),
  ...ownResults,
  location: WireLocation,
  distanceFromSearch: Type.Optional(Type.Number({ description: "In metres, in a search with a locationRange." })),
  tag: Type.Optional(Type.String({ description: "Any text of the app." })),
  ...commonResults,
};
export const Location = named("Location", "A place that users can find and check in at.", Type.Object(result));

export const locationContract = {
  Path: pathOf(locationKind),
  Create: Type.Object({ ...required, ...shared, ...created }),
  Change: Type.Object({ ...changesOf(fields), ...shared, ...commonChange }),
  Search: Type.Object({ ...filtersOf(fields), ...commonSearch(locationKind) }),
  Result: Location,
  Page: PageOf(Location),
};

/** Applies `isPublic` in place of an absent readPermissions. */
export function readPublic<Given extends object>(given: Given): Given {
  const { isPublic, readPermissions }: { isPublic?: boolean; readPermissions?: string } = given;
  return isPublic === true && readPermissions === undefined ? { ...given, readPermissions: "App" } : given;
}

/** Presents a location as this user sees it; in a search by area with the distance to the point that this user sees. */
export function presentLocation(
  row: ShownRow<LocationRow>,
  readerId: string | null,
  range?: LocationRange,
): Static<typeof Location> {
  const location = shownLocation(row, row.user_id === readerId) ?? { lat: row.lat, lng: row.lng };
  return presentOwned(row, fields, {
    location,
    ...(range && { distanceFromSearch: distanceMeters(middleOf(range), location) }),
  });
}
