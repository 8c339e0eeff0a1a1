import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import { beginsWith, type Condition, condition, equals, type Order } from "../db/conditions.ts";
import type { Queries } from "../db/database.ts";
import { ownedTableOf } from "../db/owned-tables.ts";
import { readPage } from "../db/page.ts";
import { scopeStream } from "../db/scope.ts";
import type { MetadataRow } from "../db/tables.ts";
import { type IdKind, kindOfId } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";
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
  // Any other kind has no entry.
  const { rows } = await sql`
    ${foundIn(kind)} ${applicationId} and found.id = ${objectId}`.execute(queries);
  return rows.length > 0;
}

/** Stops at the id of the application. */
function foundIn(kind: IdKind | undefined) {
  if (kind === "Device") return sql`select 1 from devices as found where found.application_id =`;
  if (kind === "User")
    return sql`select 1 from users as found where found.deleted_at is null and found.application_id =`;
  return sql`
    select 1 from ${sql.table(ownedTableOf(kind) ?? "files")} as found
    join users as owner
      on owner.application_id = found.application_id and owner.id = found.user_id and owner.deleted_at is null
    where found.application_id =`;
}
