import { sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare, prepareShapes } from "../../db/prepared.ts";
import { rowLimit } from "../../db/row-limit.ts";
import type { ChunkPart } from "./inbox.store.ts";

export interface ChunkRow {
  readonly id: string;
  readonly event_count: number;
  /** JSON: an array of {@link ChunkPart}. */
  readonly payload: string;
}

const insertPrepared = prepare<ChunkRow & { applicationId: string }, never>((queries, parameter) =>
  queries.insertInto("metric_chunks").values({
    application_id: parameter("applicationId"),
    id: parameter("id"),
    event_count: parameter("event_count"),
    payload: parameter("payload"),
  }),
);

export async function insertChunk(applicationId: string, row: ChunkRow, queries: Queries): Promise<void> {
  await insertPrepared(queries, { applicationId, ...row });
}

const deletePrepared = prepare<{ applicationId: string; id: string }, never>((queries, parameter) =>
  queries
    .deleteFrom("metric_chunks")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function deleteChunk(applicationId: string, id: string, queries: Queries): Promise<void> {
  await deletePrepared(queries, { applicationId, id });
}

const listSmallPrepared = prepare<{ applicationId: string; after: string; count: number }, Omit<ChunkRow, "payload">>(
  (queries, parameter) =>
    queries
      .selectFrom("metric_chunks")
      .select(["id", "event_count"])
      .where("application_id", "=", parameter("applicationId"))
      .where("event_count", "<", sql.lit(64)) // matches the predicate of the partial index
      .where("id", ">", parameter("after"))
      .orderBy("id")
      .limit(rowLimit(parameter("count"))),
);

/** Lists chunks of fewer than 64 events, in order. */
export function listSmallChunks(
  applicationId: string,
  after: string,
  count: number,
  queries: Queries,
): Promise<Omit<ChunkRow, "payload">[]> {
  return listSmallPrepared(queries, { applicationId, after, count });
}

const findPrepared = prepare<{ applicationId: string; id: string }, ChunkRow>((queries, parameter) =>
  queries
    .selectFrom("metric_chunks")
    .select(["id", "event_count", "payload"])
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function findChunk(applicationId: string, id: string, queries: Queries): Promise<ChunkRow | undefined> {
  const [chunk] = await findPrepared(queries, { applicationId, id });
  return chunk;
}

const runShape = prepareShapes();

/** Lists chunks in a range of ids, in ascending or descending order. */
export function listChunks(
  applicationId: string,
  range: { readonly from: string; readonly to: string },
  { isDown, count }: { readonly isDown: boolean; readonly count: number },
  queries: Queries,
): Promise<ChunkRow[]> {
  return runShape<ChunkRow>(queries, `list ${isDown}`, { applicationId, count, ...range }, (parameter) =>
    queries
      .selectFrom("metric_chunks")
      .select(["id", "event_count", "payload"])
      .where("application_id", "=", parameter("applicationId"))
      .where("id", ">=", parameter("from"))
      .where("id", "<", parameter("to"))
      .orderBy("id", isDown ? "desc" : "asc")
      .limit(rowLimit(parameter("count"))),
  );
}

export interface RollupRow {
  readonly id: string;
  readonly dimension: string;
  readonly data: Uint8Array;
}

const findRollupPrepared = prepare<{ applicationId: string; id: string }, { data: Uint8Array }>((queries, parameter) =>
  queries
    .selectFrom("metric_rollups")
    .select("data")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function findRollup(applicationId: string, id: string, queries: Queries): Promise<Uint8Array | undefined> {
  const [row] = await findRollupPrepared(queries, { applicationId, id });
  return row?.data;
}

const putRollup = prepare<RollupRow & { applicationId: string }, never>((queries, parameter) =>
  queries
    .insertInto("metric_rollups")
    .values({
      application_id: parameter("applicationId"),
      id: parameter("id"),
      dimension: parameter("dimension"),
      data: parameter("data"),
    })
    .onConflict((conflict) => conflict.columns(["application_id", "id"]).doUpdateSet({ data: sql`excluded.data` })),
);

export async function insertOrUpdateRollup(applicationId: string, row: RollupRow, queries: Queries): Promise<void> {
  await putRollup(queries, { applicationId, ...row });
}

/** The changes that a set of events makes to the totals of its key. */
export interface KeyChange {
  readonly key: string;
  readonly eventCount: number;
  readonly earliestAt: number;
  readonly lastReceivedAt: number;
}

const putKey = prepare<KeyChange & { applicationId: string }, never>((queries, parameter) =>
  queries
    .insertInto("metric_keys")
    .values({
      application_id: parameter("applicationId"),
      key: parameter("key"),
      event_count: parameter("eventCount"),
      earliest_at: parameter("earliestAt"),
      last_received_at: parameter("lastReceivedAt"),
    })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "key"]).doUpdateSet({
        event_count: sql`metric_keys.event_count + excluded.event_count`,
        earliest_at: sql`case when excluded.earliest_at < metric_keys.earliest_at
          then excluded.earliest_at else metric_keys.earliest_at end`,
        last_received_at: sql`case when excluded.last_received_at > metric_keys.last_received_at
          then excluded.last_received_at else metric_keys.last_received_at end`,
      }),
    ),
);

export async function insertOrUpdateKey(applicationId: string, change: KeyChange, queries: Queries): Promise<void> {
  await putKey(queries, { applicationId, ...change });
}
