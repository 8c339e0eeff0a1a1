import { sql } from "kysely";
import { applicationPathParameters, requireApplication } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { Permission } from "../contract/permissions.ts";
import { extended, type Static, Type } from "../contract/schema.ts";
import { alsoAs, Choice, IdInput, ObjectIdInput, Text, WireLocation } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { beginsWith, type Condition, condition, equals, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { MetadataRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { kindOfId } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { carrierKinds, isOwnedKind, ownedKinds } from "../lib/kinds.ts";
import { operation } from "../operations/operation.ts";
import { findLive } from "../owned/store.ts";
import { Item, keyCharactersMax } from "./metadata.contract.ts";
import { jsonOf } from "./metadata.values.ts";

const OperatedObjectPath = Type.Object({
  ...applicationPathParameters,
  objectId: ObjectIdInput(carrierKinds, [], {
    description: "The id of an object, a user, a device or the application.",
  }),
});

const ListOperatedItems = Type.Object({
  key: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only this key." })),
  keyPrefix: Type.Optional(Text({ maxLength: keyCharactersMax, description: "Only keys that begin with this text." })),
  visibility: Type.Optional(
    Choice(Permission, {
      description: "User: private to a user. App: shared. Both by default.",
    }),
  ),
  userID: Type.Optional(alsoAs("ownerID", IdInput("User"))),
  ...pagingParameters,
});

/** An item as operators see it, with its user and its true location. */
const OperatedItem = extended("OperatedMetadataItem", "The value of a key of an object, as operators see it.", Item, {
  userID: Type.Optional(Type.String({ description: "The user whose own slot holds the item." })),
  setterID: Type.Optional(Type.String({ description: "The user who set the location of a shared slot." })),
  shownLocation: Type.Optional({ ...WireLocation, description: "The location that others see, if it differs." }),
});
const OperatedItemPage = PageOf(OperatedItem);

function presentOperatedItem(item: MetadataRow): Static<typeof OperatedItem> {
  const { lat, lng, seen_lat, seen_lng } = item;
  return {
    key: item.key,
    value: jsonOf(item),
    visibility: item.slot === "" ? "App" : "User",
    ...(item.slot !== "" && { userID: item.slot }),
    ...(item.setter_id !== null && { setterID: item.setter_id }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    ...(seen_lat !== null && seen_lng !== null && { shownLocation: { lat: seen_lat, lng: seen_lng } }),
    created: formatDate(item.created_at),
    lastModified: formatDate(item.modified_at),
  };
}

/**
 * Lists all items of an object in the order of the primary key: the shared slot first, then each user's slot, by key.
 */
function listOperatedItems(
  applicationId: string,
  objectId: string,
  filters: Omit<Static<typeof ListOperatedItems>, "pageSize" | "pagingToken">,
  { position, size }: { readonly position: Position; readonly size: number },
  queries: Queries,
): Promise<Page<MetadataRow>> {
  const { key, keyPrefix, visibility, userID } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId), equals("object_id", objectId)];
  if (visibility === "App") conditions.push(condition("is shared", {}, () => sql`slot = ''`));
  if (visibility === "User") conditions.push(condition("is own", {}, () => sql`slot > ''`));
  if (userID !== undefined) conditions.push(condition("slot is", { userID }, (of) => sql`slot = ${of("userID")}`));
  if (keyPrefix !== undefined) conditions.push(...beginsWith("key", keyPrefix, keyCharactersMax));
  if (key !== undefined) conditions.push(condition("key is", { key }, (of) => sql`${sql.ref("key")} = ${of("key")}`));
  const scope = { shape: "metadata all", from: sql`metadata`, select: sql`metadata.*`, conditions };
  return readPage(scopeStream(scope, bySlot, false, queries), position, size);
}

const bySlot: Order<MetadataRow> = {
  shape: "slot",
  columns: [sql.ref("slot"), sql.ref("key")],
  keyOf: ({ slot, key }) => [slot, key],
};

/** Whether an object exists; for an owned object, its owner must exist, too. */
async function isObjectThere(applicationId: string, objectId: string, queries: Queries): Promise<boolean> {
  const kind = kindOfId(objectId);
  if (kind === "App") return objectId === applicationId;
  if (isOwnedKind(kind)) {
    return (await findLive(ownedKinds[kind].table, applicationId, objectId, queries)) !== undefined;
  }
  const found = kind === "Device" ? sql`devices where` : sql`users where deleted_at is null and`;
  const { rows } = await sql`
    select 1 from ${found} application_id = ${applicationId} and id = ${objectId}`.execute(queries);
  return rows.length > 0;
}

const listItems = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metadata/{objectId}",
  operation: "listOperatedMetadata",
  summary: "List the metadata of an object by key: shared values first, then those of each user",
  description: "Private values are among them.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedObjectPath,
  parameters: ListOperatedItems,
  status: 200,
  result: OperatedItemPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, objectId }, parameters, call }, { database, paging }) {
    const listing = `metadata of ${appid} ${objectId}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if (!(await isObjectThere(appid, objectId, database.reads))) throw new ApiError("ItemDoesNotExist");
    const page = await listOperatedItems(appid, objectId, request.filters, request, database.reads);
    return paging.present(listing, caller, request, page, presentOperatedItem);
  },
});

/** Operators read the metadata of an object: the shared slot and the users' own slots. */
export const metadataOperatorOperations = [listItems];
