import { applicationPathParameters, requireApplication } from "../auth/operated-application.ts";
import { PageOf } from "../contract/paging.ts";
import { extended, type ObjectSchema, type Schema, type Static, Type } from "../contract/schema.ts";
import { searchParameters } from "../contract/search.ts";
import { alsoAs, IdInput, WireLocation } from "../contract/wire.ts";
import { searchPage } from "../db/search/search.ts";
import type { OwnedRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { OwnedKind } from "./kind.ts";
import { operatedSearch } from "./search.ts";
import { findLive } from "./store.ts";

export const OperatedPath = Type.Object(applicationPathParameters);

/** The path parameters of an operator's operation on one object. */
export function operatedPathOf(kind: OwnedKind<never>): ObjectSchema<Readonly<Record<string, Schema<string>>>> {
  return Type.Object({ ...applicationPathParameters, [kind.pathParameter]: IdInput(kind.idKind) });
}

/** The parameters of an operator's search. */
const SearchOperated = Type.Object({
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  ...searchParameters<string>("CreatedOrDistanceSortOrder", ["created"]),
});

/** The members of an object that operators see in addition to the owner's view: its location as other users see it. */
const operatedResults = {
  shownLocation: Type.Optional({ ...WireLocation, description: "The location that others see, if it differs." }),
};

interface OperatedOperations<Row extends OwnedRow, Result extends ObjectSchema> {
  /** Replaces the parameters of the search. */
  readonly Search?: ObjectSchema<Omit<typeof SearchOperated.properties, "locationRange">>;
  /** The object as its owner sees it. */
  readonly Result: Result;
  present(row: Row): Static<Result>;
}

/** The operators' views that follow from the declaration of a kind: they include private objects, at true locations. */
export function operatedOperations<Row extends OwnedRow, Result extends ObjectSchema>(
  kind: OwnedKind<Row>,
  { Search = SearchOperated, Result, present }: OperatedOperations<Row, Result>,
) {
  const { idKind, collection, noun, pathParameter, table } = kind;
  const root = `/_/api/applications/{appid}/${collection}`;
  const common = { method: "GET", tag: "Operators", caller: "operator", status: 200 } as const;
  const OperatedResult: Schema<object> = extended(
    `Operated${idKind}`,
    `A ${noun}, as operators see it.`,
    Result,
    operatedResults,
  );

  function presentOperated(row: Row): object {
    const { seen_lat: lat, seen_lng: lng } = row;
    return { ...present(row), ...(lat !== null && lng !== null && { shownLocation: { lat, lng } }) };
  }

  const search = operation({
    ...common,
    path: root,
    operation: `searchOperated${idKind}s`,
    summary: `Search the ${noun}s of an application, regardless of permissions`,
    description: "Finds private objects, too, at their true locations.",
    pathParameters: OperatedPath,
    parameters: Search,
    result: PageOf(OperatedResult),
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }, { paging, database }) {
      const listing = `${collection} of ${appid}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      const found = operatedSearch<Row>(kind, appid, request.filters);
      const page = await searchPage(found, request.position, request.size, database.reads, call.work);
      return paging.present(listing, caller, request, page, presentOperated);
    },
  });

  const get = operation({
    ...common,
    path: `${root}/{${pathParameter}}`,
    operation: `getOperated${idKind}`,
    summary: `Read a ${noun}`,
    description: "With its true location, and the one that others see.",
    pathParameters: operatedPathOf(kind),
    result: OperatedResult,
    errors: ["ItemDoesNotExist"],
    async handle({ path }, { database }) {
      const { appid = "", [pathParameter]: id = "" } = path; // its only parameters
      await requireApplication(appid, database.reads);
      const row = await findLive<Row>(table, appid, id, database.reads);
      if (row === undefined) throw new ApiError("ItemDoesNotExist");
      return presentOperated(row);
    },
  });

  return { search, get };
}
