import { PageOf, type PresentedPage } from "../contract/paging.ts";
import {
  type GivenPermissions,
  permissionParameters,
  permissionResults,
  presentAudience,
} from "../contract/permissions.ts";
import { named, type ObjectSchema, type Schema, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import { alsoAs, ClearableText, IdInput, LocationInput, Text, UserIdInput, WireDate } from "../contract/wire.ts";
import type { OwnedRow, ShownRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { changesOf, filtersOf, inputsOf, type OwnedField, resultsOf } from "./fields.ts";
import type { OwnedKind } from "./kind.ts";
import { ordersOf } from "./search.ts";

const tagCharactersMax = 256;
const tagMeaning = "Any text of the app.";

/** The parameters of a creation that all kinds have. */
export const commonCreation = {
  tag: Type.Optional(Text({ maxLength: tagCharactersMax, description: tagMeaning })),
  location: Type.Optional(LocationInput()),
  ...permissionParameters,
};

/** The parameters of a change that all kinds have. */
export const commonChange = {
  tag: Type.Optional(ClearableText({ maxLength: tagCharactersMax, description: tagMeaning })),
  location: Type.Optional(LocationInput()),
  ...permissionParameters,
};

/** The parameters of a search that all kinds have. */
export function commonSearch(kind: OwnedKind<never>, orders = ordersOf(kind)) {
  const userID = UserIdInput({ description: `Only ${kind.plural} of this user; me for one's own.` });
  return {
    userID: Type.Optional(alsoAs("ownerID", userID)),
    tag: Type.Optional(Text({ maxLength: tagCharactersMax, description: "Only objects with this tag." })),
    ...searchParameters<string>(`${kind.idKind}SortOrder`, orders),
  };
}

/** The last fields of every result. */
export const commonResults = { ...permissionResults, created: WireDate, lastModified: WireDate };

/** The path parameters of an operation on one object. */
export function pathOf(kind: OwnedKind<never>): ObjectSchema<Readonly<Record<string, Schema<string>>>> {
  return Type.Object({ [kind.pathParameter]: IdInput(kind.idKind) });
}

/** The wire contract of a kind. */
export interface OwnedContract<Result> {
  readonly Path: ReturnType<typeof pathOf>;
  readonly Change: ObjectSchema<typeof commonChange>;
  readonly Search: ObjectSchema<ReturnType<typeof commonSearch>>;
  readonly Result: Schema<Result>;
  readonly Page: Schema<PresentedPage<Result>>;
}

/**
 * The wire contract of a kind whose objects all have a location.
 *
 * @param about describes an object
 * @param location the schema of its location in results
 */
export function ownedContract<Row extends OwnedRow, WireLocation extends Schema>(
  kind: OwnedKind<Row>,
  about: string,
  location: WireLocation,
  orders = ordersOf(kind),
) {
  const { idKind, fields } = kind;
  const { location: _, ...created } = commonCreation;
  const { location: moved, ...changed } = commonChange;
  const { userID, tag, ...searched } = commonSearch(kind, orders);
  const Result = named(
    idKind,
    about,
    Type.Object({
      ...{ id: Type.String(), userID: Type.String(), location },
      ...resultsOf(fields),
      tag: Type.Optional(Type.String({ description: tagMeaning })),
      ...commonResults,
    }),
  );
  return {
    Path: pathOf(kind),
    Create: Type.Object({ location: LocationInput(), ...inputsOf(fields), ...created }),
    Change: Type.Object({ location: moved, ...changesOf(fields), ...changed }),
    Search: Type.Object({ userID, tag, ...filtersOf(fields), ...searched }),
    Result,
    Page: PageOf(Result),
  };
}

/** The members that all kinds have in common. */
interface PresentedOwned extends GivenPermissions {
  readonly id: string;
  /** Absent for objects without a user. */
  readonly userID: string;
  readonly tag?: string;
  readonly created: string;
  readonly lastModified: string;
}

/**
 * Presents a row: the members that all kinds have in common, the fields of this one, and others. A member without a
 * value is undefined, which JSON omits.
 */
export function presentOwned<Row extends ShownRow<OwnedRow>, Others extends object>(
  row: Row,
  fields: readonly OwnedField<Row>[],
  others: Others,
): PresentedOwned & Others {
  const presented: Record<string, unknown> = Object.assign(
    { id: row.id, userID: row.user_id ?? undefined, tag: row.tag ?? undefined },
    others,
  );
  for (const field of fields) presented[field.name] = field.valueOf(row) ?? undefined;
  presented["readPermissions"] = presentAudience(row.read_permission);
  presented["writePermissions"] = presentAudience(row.write_permission);
  presented["created"] = formatDate(row.created_at);
  presented["lastModified"] = formatDate(row.modified_at);
  return presented as unknown as PresentedOwned & Others;
}
