import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { ownedTableNames } from "../db/owned-tables.ts";
import { type Condition, condition, equals, type Order, tieOrder } from "../db/search/conditions.ts";
import { type Scope, scopeStream } from "../db/search/scope.ts";
import { eachRow, type Stream } from "../db/search/stream.ts";
import type { MetadataRow } from "../db/tables.ts";
import { type ExportOwner, ownedIds, type UserExporter } from "../owned/export.ts";
import { presentItem, type ReadItem } from "./metadata.contract.ts";
import { isLocationShown } from "./metadata.reads.store.ts";

type ExportedItem = ReadItem & Pick<MetadataRow, "object_id">;

/** Few per page, because a value has up to 32 KiB. */
const itemsAtOnce = 100;
const objectsAtOnce = 200;

/**
 * Exports the metadata of a user: the user's own slots on any object, and the shared slots of the user and of the
 * user's objects. The own slots of other users on these objects are omitted.
 */
export function metadataExporter({ database }: { readonly database: Database }): UserExporter {
  const { reads } = database;
  return async function* (owner) {
    const { applicationId, userId } = owner;
    const present = ({ object_id, ...item }: ExportedItem) => {
      const { value, ...shown } = presentItem(item, userId);
      return { objectID: object_id, ...shown, value: JSON.parse(value) };
    };
    async function* rows() {
      for await (const item of eachRow(ownSlots(applicationId, userId, reads), itemsAtOnce)) yield present(item);
      for await (const objectIds of objectsOf(owner, reads)) {
        for (const objectId of await withShared(applicationId, objectIds, reads)) {
          for await (const item of eachRow(shared(applicationId, objectId, reads), itemsAtOnce)) yield present(item);
        }
      }
    }
    yield { name: "metadata.ndjson", rows: rows() };
  };
}

/** By object, then by key. */
const byObject: Order<ExportedItem> = {
  shape: "object",
  columns: [sql.ref("object_id"), sql.ref("key")],
  keyOf: ({ object_id, key }) => [object_id, key],
};

function ownSlots(applicationId: string, userId: string, queries: Queries): Stream<ExportedItem> {
  // Repeats the predicate of the index, because SQLite does not infer from a parameter that it is not empty.
  const isOwn = condition("is own", {}, () => sql`slot <> ''`);
  return items([equals("application_id", applicationId), equals("slot", userId), isOwn], byObject, queries);
}

function shared(applicationId: string, objectId: string, queries: Queries): Stream<ExportedItem> {
  const conditions = [equals("application_id", applicationId), equals("object_id", objectId), equals("slot", "")];
  return items(conditions, { ...tieOrder("key"), keyOf: ({ key }) => [key] }, queries);
}

function items(conditions: readonly Condition[], order: Order<ExportedItem>, queries: Queries): Stream<ExportedItem> {
  const scope: Scope = {
    shape: "metadata exported",
    from: sql`metadata`,
    select: (parameter) => sql`metadata.*, ${isLocationShown(parameter("application_id"))} as is_location_shown`,
    conditions,
  };
  return scopeStream(scope, order, false, queries);
}

/** Yields the user and the user's objects that can have metadata, a few ids at a time. */
async function* objectsOf({ applicationId, userId }: ExportOwner, queries: Queries): AsyncGenerator<readonly string[]> {
  yield [userId];
  for (const table of ownedTableNames) {
    let some: string[] = [];
    for await (const { id } of ownedIds(table, { applicationId, userId }, queries)) {
      some.push(id);
      if (some.length < objectsAtOnce) continue;
      yield some;
      some = [];
    }
    if (some.length > 0) yield some;
  }
}

/** Returns the objects that have shared metadata. */
async function withShared(applicationId: string, objectIds: readonly string[], queries: Queries): Promise<string[]> {
  const found = await queries
    .selectFrom("metadata")
    .select("object_id")
    .distinct()
    .where("application_id", "=", applicationId)
    .where("object_id", "in", objectIds)
    .where("slot", "=", "")
    .execute();
  return found.map(({ object_id }) => object_id);
}
