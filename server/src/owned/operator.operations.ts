import { applicationPathParameters, requireApplication } from "../auth/operated-application.ts";
import type { PresentedPage } from "../contract/paging.ts";
import { pagingParameters } from "../contract/paging.ts";
import { type ObjectSchema, type Schema, Type } from "../contract/schema.ts";
import { alsoAs, DateRangeInput, IdInput, WireLocation } from "../contract/wire.ts";
import { searchPage } from "../db/search.ts";
import type { OwnedRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { operation } from "../operation.ts";
import type { OwnedKind } from "./kind.ts";
import { operatedSearch } from "./search.ts";
import { findLive } from "./store.ts";

export const OperatedPath = Type.Object(applicationPathParameters);

/** The path parameters of an operator's operation on one object. */
export function operatedPathOf(kind: OwnedKind<never>): ObjectSchema<Readonly<Record<string, Schema<string>>>> {
  return Type.Object({ ...applicationPathParameters, [kind.pathParameter]: IdInput(kind.idKind) });
}

/** The parameters of an operator's search that all kinds have. */
const operatedFilters = {
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  created: Type.Optional(DateRangeInput()),
  lastModified: Type.Optional(DateRangeInput()),
  sortOrder: Type.Optional(Type.Unsafe<string>({})),
  ...pagingParameters,
};

/** What operators see of an object besides what its owner sees: where others see it. */
export const operatedResults = { shownLocation: Type.Optional(WireLocation) };

export function presentOperated({ seen_lat: lat, seen_lng: lng }: OwnedRow) {
  return lat !== null && lng !== null ? { shownLocation: { lat, lng } } : {};
}

interface OperatedOperations<Row extends OwnedRow, Result> {
  readonly Search: ObjectSchema<typeof operatedFilters>;
  readonly Result: Schema<Result>;
  readonly Page: Schema<PresentedPage<Result>>;
  readonly summary: string;
  present(row: Row): Result;
}

/** The operators' views that follow from the declaration of a kind: private objects too, at their true locations. */
export function operatedOperations<Row extends OwnedRow, Result>(
  kind: OwnedKind<Row>,
  { Search, Result, Page, summary, present }: OperatedOperations<Row, Result>,
) {
  const { idKind, collection, noun, pathParameter, table } = kind;
  const root = `/_/api/applications/{appid}/${collection}`;
  const common = { method: "GET", tag: "Operators", caller: "operator", status: 200 } as const;

  const search = operation({
    ...common,
    path: root,
    operation: `searchOperated${idKind}s`,
    summary: `Search the ${noun}s of an application, regardless of permissions`,
    pathParameters: OperatedPath,
    parameters: Search,
    result: Page,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }, { paging, database }) {
      const listing = `${collection} of ${appid}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      const found = operatedSearch<Row>(kind, appid, request.filters);
      const page = await searchPage(found, request.position, request.size, database.reads, call.work);
      return paging.present(listing, caller, request, page, present);
    },
  });

  const get = operation({
    ...common,
    path: `${root}/{${pathParameter}}`,
    operation: `getOperated${idKind}`,
    summary,
    pathParameters: operatedPathOf(kind),
    result: Result,
    errors: ["ItemDoesNotExist"],
    async handle({ path }, { database }) {
      const { appid = "", [pathParameter]: id = "" } = path; // its only parameters
      await requireApplication(appid, database.reads);
      const row = await findLive<Row>(table, appid, id, database.reads);
      if (row === undefined) throw new ApiError("ItemDoesNotExist");
      return present(row);
    },
  });

  return { search, get };
}
