import { compileParameters } from "../contract/parameters.ts";
import { Created } from "../contract/route.ts";
import { Type } from "../contract/schema.ts";
import type { JsonMember } from "../contract/wire-readers.ts";
import type { Queries } from "../db/database.ts";
import { isNumberOverflow } from "../db/dialect.ts";
import type { MetadataRow } from "../db/tables.ts";
import type { NewEvent } from "../event-log/recorder.ts";
import { ApiError } from "../lib/errors.ts";
import type { Location } from "../lib/locations.ts";
import { operation } from "../operations/operation.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import {
  IncrementItem,
  Item,
  ItemPage,
  ItemPath,
  ObjectPath,
  OneItem,
  PutItem,
  PutItems,
  presentItem,
  SearchItems,
  valuesMax,
} from "./metadata.contract.ts";
import { type Bag, bagOf, type Carrier, requireReadable, requireWritable } from "./metadata.objects.ts";
import { findItem } from "./metadata.reads.store.ts";
import { searchItems } from "./metadata.search.ts";
import { deleteItem, incrementItem, lockItem, putItem, putItems } from "./metadata.store.ts";
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
    // Drops items that a concurrent request deleted.
    const there = presented.pageResults.filter((item) => item !== undefined);
    return { ...presented, pageResults: there.map((item) => presentItem(item, userId)) };
  },
});

/**
 * Operations on all keys of an object: putting many values, and searching (spec/metadata#put-many-values,
 * spec/metadata#search-metadata).
 */
const metadataBagOperations = [putManyMetadata, searchMetadata];

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

/**
 * Returns the location columns of a row. Only a user's location in a shared slot is fuzzed: an own slot is private, and
 * a device has no user to protect.
 */
async function locate(
  fuzzing: Fuzzing,
  { applicationId, slot }: Bag,
  userId: string | undefined,
  location: Location | undefined,
  queries: Queries,
): Promise<Pick<MetadataRow, keyof typeof nowhere>> {
  if (location === undefined) return nowhere;
  const setterId = slot === "" ? userId : undefined;
  const placing = { applicationId, userId: setterId ?? "", setterId: setterId ?? "", location };
  const located =
    setterId === undefined
      ? await fuzzing.locateAs(undefined, placing, queries)
      : await fuzzing.locate(placing, queries);
  return { setter_id: setterId ?? null, ...located };
}

const putMetadata = operation({
  method: "PUT",
  path: "/metadata/{id}/{key}",
  operation: "putMetadata",
  summary: "Set the value of a key, replacing an existing one",
  description: "Stores any JSON under a key of an object: only for the caller, or shared.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ItemPath,
  parameters: PutItem,
  status: 200,
  mayCreate: true,
  result: Type.Literal(true),
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path, parameters }, { database, fuzzing, clock, events }) {
    const { applicationId, userId } = caller;
    const { location } = parameters;
    const bag = bagOf(caller, path.id, parameters.visibility);
    const value = valueColumns(parameters.value, "value");
    const now = clock.now();
    const isNew = await database.write(async ({ queries }) => {
      const isPersonal = bag.slot !== "" || location !== undefined;
      const carrier = await requireWritable(caller, bag, isPersonal, database.dialect, queries);
      if (location !== undefined) await lockItem(database.dialect, applicationId, bag, path.key, queries);
      const row: MetadataRow = {
        application_id: applicationId,
        object_id: bag.objectId,
        slot: bag.slot,
        key: path.key,
        ...value,
        ...(await locate(fuzzing, bag, userId, location, queries)),
        created_at: now,
        modified_at: now,
      };
      const isInserted = await putItem(row, queries);
      await events.record(applicationId, metadataEvent("changed", bag, path.key, carrier), queries);
      return isInserted;
    });
    return isNew ? new Created(true as const) : (true as const);
  },
});

const getMetadata = operation({
  method: "GET",
  path: "/metadata/{id}/{key}",
  operation: "getMetadata",
  summary: "Read the value of a key",
  description: "Answers with the JSON that was put.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ItemPath,
  parameters: OneItem,
  status: 200,
  result: Item,
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist"],
  async handle({ caller, path, parameters }, { database }) {
    const bag = bagOf(caller, path.id, parameters.visibility);
    await requireReadable(caller, bag, database.reads);
    const item = await findItem(caller.applicationId, bag, path.key, database.reads);
    if (item === undefined) throw new ApiError("ItemDoesNotExist");
    return presentItem(item, caller.userId);
  },
});

const incrementMetadata = operation({
  method: "POST",
  path: "/metadata/{id}/{key}/increment",
  operation: "incrementMetadata",
  summary: "Increment the number of a key; a missing one starts at 0",
  description: "Adds to a number atomically, so that increments of several clients add up.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ItemPath,
  parameters: IncrementItem,
  status: 200,
  result: Item,
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path, parameters }, { database, clock, events }) {
    const { applicationId, userId } = caller;
    const bag = bagOf(caller, path.id, parameters.visibility);
    const change = { key: path.key, delta: parameters.delta ?? 1, at: clock.now() };
    const item = await database.write(async ({ queries }) => {
      const carrier = await requireWritable(caller, bag, bag.slot !== "", database.dialect, queries);
      const incremented = await incrementItem(applicationId, bag, change, queries).catch((error) => {
        throw isNumberOverflow(error) ? beyondDoubles() : error;
      });
      if (incremented === undefined) {
        throw new ApiError("ParameterIncorrectFormat", `The value of ${path.key} is not a number.`);
      }
      if (!Number.isFinite(incremented.number)) throw beyondDoubles();
      await events.record(applicationId, metadataEvent("changed", bag, path.key, carrier), queries);
      return incremented;
    });
    return presentItem(item, userId);
  },
});

const removeMetadata = operation({
  method: "DELETE",
  path: "/metadata/{id}/{key}",
  operation: "deleteMetadata",
  summary: "Delete a key",
  description: "Deletes the value that the given visibility names.",
  tag: "Metadata",
  caller: "device",
  pathParameters: ItemPath,
  parameters: OneItem,
  status: 200,
  result: Type.Literal(true),
  errors: ["AuthUserAccessTokenRequired", "ItemDoesNotExist", "ObjectPermissionDenied"],
  async handle({ caller, path, parameters }, { database, events }) {
    const { applicationId } = caller;
    const bag = bagOf(caller, path.id, parameters.visibility);
    const isDeleted = await database.write(async ({ queries }) => {
      const carrier = await requireWritable(caller, bag, false, database.dialect, queries);
      if (!(await deleteItem(applicationId, bag, path.key, queries))) return false;
      await events.record(applicationId, metadataEvent("deleted", bag, path.key, carrier), queries);
      return true;
    });
    if (!isDeleted) throw new ApiError("ItemDoesNotExist");
    return true as const;
  },
});

/** Keys and values on owned objects, users, devices and the application (spec/metadata). */
export const metadataOperations = [
  putMetadata,
  getMetadata,
  incrementMetadata,
  removeMetadata,
  ...metadataBagOperations,
];

function beyondDoubles(): ApiError {
  return new ApiError("ParameterOutOfRange", "delta would raise the number beyond 1.8e308.", { parameter: "delta" });
}

/** Returns the event of a write in a slot of an object. A write in a user's slot concerns only that user. */
function metadataEvent(
  change: "changed" | "deleted",
  { objectId, slot }: Bag,
  key: string,
  { ownerId, isShown }: Carrier,
): NewEvent {
  const isShared = slot === "";
  return {
    type: `metadata.${change}`,
    ...{ objectId, key, slot },
    userId: isShared ? ownerId : slot,
    isShown: isShared && isShown,
  };
}
