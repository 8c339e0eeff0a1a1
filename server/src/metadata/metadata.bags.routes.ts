import { compileParameters } from "../contract/parameters.ts";
import { Type } from "../contract/schema.ts";
import type { JsonMember } from "../contract/wire.ts";
import type { MetadataRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { ItemPage, ItemPath, ObjectPath, PutItems, presentItem, SearchItems, valuesMax } from "./metadata.contract.ts";
import { metadataEvent } from "./metadata.events.ts";
import { bagOf, requireReadable, requireWritable } from "./metadata.objects.ts";
import { searchItems } from "./metadata.search.ts";
import { putItems } from "./metadata.store.ts";
import { nowhere, valueColumns } from "./metadata.values.ts";

const putManyMetadata = operation({
  method: "PUT",
  path: "/metadata/{id}",
  operation: "putManyMetadata",
  summary: "Set the values of several keys, all or none",
  description: "Stores up to 100 values in one transaction.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ObjectPath,
  parameters: PutItems,
  status: 200,
  result: Type.Literal(true),
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path, parameters }, { database, clock, events }) {
    const bag = bagOf(caller, path.id, parameters.visibility);
    const now = clock.now();
    requireFew(parameters.values);
    const rows = parameters.values.map(
      ([key, json]): MetadataRow => ({
        application_id: caller.applicationId,
        object_id: bag.objectId,
        slot: bag.slot,
        key: requireKey(key),
        ...valueColumns(json, `values.${key}`, `The value of ${key}`),
        ...nowhere,
        created_at: now,
        modified_at: now,
      }),
    );
    await database.write(async ({ queries }) => {
      const carrier = await requireWritable(caller, bag, bag.slot !== "", database.dialect, queries);
      if (rows.length === 0) return;
      await putItems(rows, queries);
      const changed = rows.map(({ key }) => metadataEvent("changed", bag, key, carrier));
      await events.record(caller.applicationId, changed, queries);
    });
    return true as const;
  },
});

const searchMetadata = operation({
  method: "GET",
  path: "/metadata/{id}",
  operation: "searchMetadata",
  summary: "Search the metadata of an object",
  description: "Finds the values of one object that the caller may read.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ObjectPath,
  parameters: SearchItems,
  status: 200,
  result: ItemPage,
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist"],
  async handle({ caller, path, parameters, call }, { database, paging }) {
    const { userId } = caller;
    const listing = `metadata of ${bagOf(caller, path.id, "App").objectId}`;
    const request = await paging.read(listing, caller, parameters, call);
    const bag = bagOf(caller, path.id, request.filters.visibility);
    await requireReadable(caller, bag, database.reads);
    const { page, itemOf } = await searchItems(bag, userId, request.filters, request, database.reads, call.work);
    const presented = paging.present(listing, caller, request, page, itemOf);
    // Drops items that were deleted in between.
    const there = presented.pageResults.filter((item) => item !== undefined);
    return { ...presented, pageResults: there.map((item) => presentItem(item, userId)) };
  },
});

/**
 * Operations on all keys of an object: putting many values, and searching (spec/metadata#put-many-values,
 * spec/metadata#search-metadata).
 */
export const metadataBagOperations = [putManyMetadata, searchMetadata];

/** @throws ApiError RequestTooLarge */
function requireFew(values: readonly JsonMember[]): void {
  if (values.length > valuesMax)
    throw new ApiError("RequestTooLarge", `values may have ${valuesMax} members.`, { parameter: "values" });
}

const readKey = compileParameters(Type.Object({ key: ItemPath.properties.key }));

/**
 * Validates a key of `values`.
 *
 * @throws ApiError ParameterMissingRequiredValue, ParameterIncorrectFormat, ParameterOutOfRange
 */
function requireKey(key: string): string {
  try {
    return readKey([["key", key]]).key;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.condition, error.message, { parameter: `values.${key}` });
  }
}
