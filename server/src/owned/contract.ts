import type { PresentedPage } from "../contract/paging.ts";
import { permissionParameters, permissionResults } from "../contract/permissions.ts";
import { type ObjectSchema, type Schema, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import { alsoAs, ClearableText, IdInput, LocationInput, Text, UserIdInput, WireDate } from "../contract/wire.ts";
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
