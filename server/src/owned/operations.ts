import { type GivenPermissions, requireOwner } from "../contract/permissions.ts";
import type { UserCaller } from "../contract/route.ts";
import { type ObjectSchema, type Schema, type Static, Type } from "../contract/schema.ts";
import type { Queries, Transaction } from "../db/database.ts";
import { searchPage } from "../db/search/search.ts";
import type { OwnedRow, ShownRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import type { LocationRange, SentLocation } from "../lib/locations.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { changeOwned, createOwned, newColumns, removeOwned } from "./changes.ts";
import type { commonCreation, OwnedContract } from "./contract.ts";
import { columnsOf } from "./fields.ts";
import type { OwnedKind } from "./kind.ts";
import { ownedSearch } from "./search.ts";
import { getReadable } from "./store.ts";

/** The parts of a creation that the declaration of a kind does not contain. */
interface OwnedCreation<Row extends OwnedRow, Create extends Creation, Result> {
  readonly contract: { readonly Create: Create; readonly Result: Schema<Result> };
  readonly summary: string;
  readonly description: string;
  /** Presents the new object to its owner. */
  present(row: Row, userId: string): Result;
  /** Translates the parameters. */
  readGiven?(given: Static<Create>): Static<Create>;
  /** Checks the new columns, and returns those that differ. @throws ApiError */
  complete?(row: Row, given: Static<Create>): Partial<Row>;
}

type Creation = ObjectSchema<Omit<typeof commonCreation, "location"> & { readonly location: Schema<SentLocation> }>;

/** The creation of an object with a location, which follows from the declaration of a kind. */
export function ownedCreation<Row extends OwnedRow, Create extends Creation, Result>(
  { idKind, table, collection, tag, fields, placeColumns }: OwnedKind<Row>,
  { contract, summary, description, present, readGiven, complete }: OwnedCreation<Row, Create, Result>,
) {
  const empty = Object.fromEntries(fields.map(({ column }) => [column, null]));
  return operation({
    ...{ method: "POST", path: `/${collection}`, operation: `create${idKind}`, summary, description, tag },
    ...{ caller: "user", parameters: contract.Create, status: 201, result: contract.Result, errors: [] },
    async handle({ caller, parameters }, { database, fuzzing, clock, ids, events }) {
      const { applicationId, userId } = caller;
      const { location } = parameters;
      const given = {
        ...newColumns(caller, ids.newId(idKind), readGiven?.(parameters) ?? parameters, clock),
        ...{ ...empty, ...columnsOf(fields, parameters), ...placeColumns?.(location.place) },
      } as unknown as Row; // a row of the table consists of these columns and the location
      const columns = { ...given, ...complete?.(given, parameters) };
      const placing = { applicationId, userId, setterId: userId, location };
      const created = await database.write(
        async ({ queries }) => {
          const row = { ...columns, ...(await fuzzing.locate(placing, queries)) };
          await createOwned(table, row, events, queries);
          return row;
        },
        { addsTo: applicationId },
      );
      return present(created, userId);
    },
  });
}

/** The parts of a kind's operations that its declaration does not contain. */
interface OwnedOperations<Row extends OwnedRow, Result> {
  readonly contract: OwnedContract<Result>;
  readonly summaries: { readonly get: string; readonly change: string; readonly remove: string };
  /** Returns a presenter of these rows for the caller; `range` is the area of a search. */
  presenter(
    rows: readonly ShownRow<Row>[],
    caller: UserCaller,
    services: Services,
    range?: LocationRange,
  ): Promise<(row: ShownRow<Row>) => Result>;
  /** Translates the parameters of a change. */
  readChange?(given: Static<OwnedContract<Result>["Change"]>): Static<OwnedContract<Result>["Change"]>;
  /** Runs before the object is locked. */
  beforeChange?(
    caller: UserCaller,
    id: string,
    given: GivenPermissions,
    queries: Queries,
    services: Services,
  ): Promise<void>;
  /**
   * Deletes an object that consists of more than its row and its metadata.
   * @returns false when it was already deleted
   */
  remove?(row: Row, transaction: Transaction, services: Services): Promise<boolean>;
}

/** The operations that follow from the declaration of a kind: search, read, change and delete (spec/search). */
export function ownedOperations<Row extends OwnedRow, Result>(
  kind: OwnedKind<Row>,
  { contract, summaries, presenter, readChange, beforeChange, remove }: OwnedOperations<Row, Result>,
) {
  const { idKind, collection, noun, table, tag } = kind;
  const path = `/${collection}/{${kind.pathParameter}}`;
  const idIn = (given: Readonly<Record<string, string>>) => given[kind.pathParameter] ?? ""; // its only parameter

  const ofObject = { path, tag, caller: "user", pathParameters: contract.Path, status: 200 } as const;

  async function present(row: Row, caller: UserCaller, services: Services): Promise<Result> {
    return (await presenter([row], caller, services))(row);
  }

  const search = operation({
    method: "GET",
    path: `/${collection}`,
    operation: `search${idKind}s`,
    summary: `Search one's own ${noun}s and those that others share`,
    description: `All filters have to fit. Without any, the newest ${noun}s come first.`,
    tag,
    caller: "user",
    parameters: contract.Search,
    status: 200,
    result: contract.Page,
    errors: [],
    async handle({ caller, parameters, call }, services) {
      const { paging, database } = services;
      const request = await paging.read(collection, caller, parameters, call);
      const found = ownedSearch(kind, caller.applicationId, caller.userId, request.filters);
      const page = await searchPage(found, request.position, request.size, database.reads, call.work);
      const presented = await presenter(page.rows, caller, services, request.filters.locationRange);
      return paging.present(collection, caller, request, page, presented);
    },
  });

  const get = operation({
    ...ofObject,
    method: "GET",
    operation: `get${idKind}`,
    summary: summaries.get,
    description: `Answers as for a ${noun} that never existed if the user may not read it.`,
    result: contract.Result,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: given }, services) {
      const { applicationId, userId } = caller;
      const row = await getReadable<Row>(table, applicationId, userId, idIn(given), services.database.reads);
      return present(row, caller, services);
    },
  });

  const change = operation({
    ...ofObject,
    method: "PATCH",
    operation: `change${idKind}`,
    summary: summaries.change,
    description: "Changes the fields that are sent; an empty text clears a field. Only the owner changes permissions.",
    parameters: contract.Change,
    result: contract.Result,
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller, path: given, parameters }, services) {
      const id = idIn(given);
      const wanted = readChange?.(parameters) ?? parameters;
      const changed = await services.database.write(async ({ queries }) => {
        await beforeChange?.(caller, id, wanted, queries, services);
        return changeOwned(kind, caller, id, wanted, services, queries);
      });
      return present(changed, caller, services);
    },
  });

  const removal = operation({
    ...ofObject,
    method: "DELETE",
    operation: `delete${idKind}`,
    summary: summaries.remove,
    description: "Its metadata is deleted, too.",
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller: { applicationId, userId }, path: given }, services) {
      await services.database.write(async (transaction) => {
        const found = await getReadable<Row>(table, applicationId, userId, idIn(given), transaction.queries);
        requireOwner(found, userId);
        const isRemoved = remove
          ? await remove(found, transaction, services)
          : await removeOwned(table, applicationId, found.id, transaction, services);
        if (!isRemoved) throw new ApiError("ItemDoesNotExist");
      });
      return true as const;
    },
  });

  return { search, get, change, remove: removal };
}
