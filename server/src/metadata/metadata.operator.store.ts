import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { beginsWith, type Condition, condition, equals, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { MetadataRow } from "../db/tables.ts";
import { kindOfId } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { isOwnedKind, ownedKinds } from "../lib/kinds.ts";
import { findLive } from "../owned/store.ts";
import { keyCharactersMax } from "./metadata.contract.ts";
import type { ListOperatedItems } from "./metadata.operator.contract.ts";

/** All items of an object in the order of the primary key: the shared slot first, then each user's slot, by key. */
export function listOperatedItems(
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

/** Whether an object exists; for an owned object, its owner must exist as well. */
export async function isObjectThere(applicationId: string, objectId: string, queries: Queries): Promise<boolean> {
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
