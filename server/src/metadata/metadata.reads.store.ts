import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepareLookup, prepareShapes } from "../db/prepared.ts";
import { locationReadiness } from "../privacy/visibility.ts";
import type { ReadItem } from "./metadata.contract.ts";
import type { Bag } from "./metadata.objects.ts";

export async function findItem(
  applicationId: string,
  bag: Bag,
  key: string,
  queries: Queries,
): Promise<ReadItem | undefined> {
  const [row] = await findByKey(queries, { ...bag, applicationId, key });
  return row;
}

const runShape = prepareShapes();

/** Returns the existing items of these keys, by key. */
export async function findItems(
  applicationId: string,
  { objectId, slot }: Bag,
  keys: readonly string[],
  queries: Queries,
): Promise<ReadonlyMap<string, ReadItem>> {
  if (keys.length === 0) return new Map();
  // Pads to 1, 2, 4 … keys with the last one, to bound the number of distinct statements.
  const count = 2 ** Math.ceil(Math.log2(keys.length));
  const names = Array.from({ length: count }, (_, index) => `key ${index}`);
  const values = names.map((name, index) => [name, keys[index] ?? keys.at(-1)]);
  const parameters = { applicationId, objectId, slot, ...Object.fromEntries(values) };
  const found = await runShape<ReadItem>(queries, `items of ${count}`, parameters, (parameter) =>
    queries
      .selectFrom("metadata")
      .selectAll()
      .select(isLocationShown(parameter("applicationId")).as("is_location_shown"))
      .where("application_id", "=", parameter("applicationId"))
      .where("object_id", "=", parameter("objectId"))
      .where("slot", "=", parameter("slot"))
      .where("key", "in", names.map(parameter)),
  );
  return new Map(found.map((item) => [item.key, item]));
}

export interface ByKey {
  readonly applicationId: string;
  readonly objectId: string;
  readonly slot: string;
  readonly key: string;
}

/**
 * Whether other users see the location of a row: not while the user who set it is being deleted, and with
 * locationFuzzing not before the row has its fuzzed location.
 */
export function isLocationShown(application: unknown): RawBuilder<number> {
  return sql<number>`(
    case when metadata.setter_id is null then 1
    else coalesce(${locationReadiness("metadata", "setter_id", application)}, 0) end
  )`;
}

const findByKey = prepareLookup<ByKey, ReadItem>((queries, parameter) =>
  queries
    .selectFrom("metadata")
    .selectAll()
    .select(isLocationShown(parameter("applicationId")).as("is_location_shown"))
    .where("application_id", "=", parameter("applicationId"))
    .where("object_id", "=", parameter("objectId"))
    .where("slot", "=", parameter("slot"))
    .where("key", "=", parameter("key")),
);
