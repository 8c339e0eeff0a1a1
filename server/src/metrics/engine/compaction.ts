import { setImmediate } from "node:timers/promises";
import type { Selectable } from "kysely";
import type { Database, Queries } from "../../db/database.ts";
import { isUniqueViolation } from "../../db/dialect.ts";
import { prepare } from "../../db/prepared.ts";
import { listLengthMax } from "../../db/search/list-lengths.ts";
import type { Tables } from "../../db/tables.ts";
import { isHeld } from "../../jobs/leases.ts";
import type { Clock } from "../../lib/clock.ts";
import type { IdGenerator } from "../../lib/ids.ts";
import { createYield } from "../../lib/yield.ts";
import { Batch } from "./batch.ts";
import { deleteInboxRows, findInboxRow, listInboxRows, readPayload, type WaitingRow } from "./inbox.store.ts";
import { addStoredBytes } from "./stored-bytes.ts";
import { type PreparedUnit, unitsOf } from "./units.ts";

export interface CompactionServices {
  readonly database: Database;
  readonly ids: IdGenerator;
  readonly clock: Clock;
}

const batchEventsMax = 100_000;
const batchRowsMax = 4_000;
const batchCellsMax = 30_000;
const sliceEvents = 250;
const leaseMs = 30_000;
// Bounds on the writes of one transaction, so that it takes a few milliseconds.
const transactionUnitsMax = 200;
const transactionBytesMax = 262_144;
const deletedBytesMax = 1_048_576;
/** Sorts after every position. */
const lastPosition = "~";

/**
 * Moves the oldest events from the inbox into chunks and roll-ups.
 * Merging a roll-up reads and writes all of it, so a batch has many events and is written in many transactions. Each
 * transaction advances the position of the batch. After a crash, the next process takes the same inbox rows and
 * continues from the position, so each event is counted once. Readers apply the same rule to events that are not yet
 * written.
 *
 * @returns the number of events taken; 0 when the inbox is empty, undefined when another process is compacting
 */
export async function compactBatch(
  applicationId: string,
  services: CompactionServices,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const { database, ids } = services;
  try {
    const started = await startBatch(applicationId, services);
    if (started === undefined) return undefined;
    if (started === "nothing waits") return 0;
    let { row } = started;
    const { batch, rowBytes } = started;

    /** Lets the next round, of any process, continue at once. */
    async function release(): Promise<void> {
      await database.write(({ queries }) => updateBatch(row, { ...row, leased_until: 0 }, queries));
    }

    async function advance(
      done_until: string,
      units: readonly PreparedUnit[],
      growth: ReadonlyMap<string, number>,
    ): Promise<void> {
      if (signal?.aborted) await release();
      signal?.throwIfAborted();
      const next = { ...row, done_until, leased_until: services.clock.now() + leaseMs };
      await database.write(async ({ queries }) => {
        await updateBatch(row, next, queries);
        await Promise.all(units.map((unit) => unit.write(queries)));
        for (const [key, bytes] of growth) await addStoredBytes(applicationId, key, bytes, queries);
      });
      row = next;
    }

    const yieldToOthers = createYield();
    let prepared: PreparedUnit[] = [];
    let growth = new Map<string, number>();
    let size = 0;
    for (const unit of unitsOf(applicationId, batch, row.done_until, ids)) {
      const next = await unit.prepare(database.reads);
      prepared.push(next);
      size += next.size;
      if (next.growth !== 0) growth.set(unit.key, (growth.get(unit.key) ?? 0) + next.growth);
      if (prepared.length < transactionUnitsMax && size < transactionBytesMax) {
        await yieldToOthers();
        continue;
      }
      await advance(unit.position, prepared, growth);
      prepared = [];
      growth = new Map();
      size = 0;
      await setImmediate();
    }
    await advance(lastPosition, prepared, growth);
    await endBatch(row, rowBytes, database);
    return batch.eventCount;
  } catch (error) {
    if (error instanceof BatchLost) return undefined;
    throw error;
  }
}

interface BegunBatch {
  readonly row: BatchRow;
  readonly batch: Batch;
  /** By the id of the inbox row. */
  readonly rowBytes: ReadonlyMap<string, number>;
}

/** Starts a batch, or takes over an abandoned one. */
async function startBatch(
  applicationId: string,
  { database, ids, clock }: CompactionServices,
): Promise<BegunBatch | "nothing waits" | undefined> {
  const left = await findBatch(applicationId, database.reads);
  const now = clock.now();
  const mine = { id: ids.newId("MetricEvent"), leased_until: now + leaseMs };
  if (left !== undefined) {
    if (isHeld(left.leased_until, now)) return undefined;
    const row = { ...left, ...mine };
    await database.write(({ queries }) => updateBatch(left, row, queries));
    return { row, ...(await gather(rowsOfBatch(row, database))) };
  }
  const gathered = await gather(oldestRows(applicationId, database));
  if (gathered.rowBytes.size === 0) return "nothing waits";
  const row_ids = JSON.stringify([...gathered.rowBytes.keys()]);
  const row = { application_id: applicationId, ...mine, row_ids, done_until: "" };
  try {
    await database.write(({ queries }) => insertBatch(row, queries));
  } catch (error) {
    if (isUniqueViolation(error)) return undefined;
    throw error;
  }
  return { row, ...gathered };
}

async function gather(rows: AsyncIterable<WaitingRow>): Promise<Omit<BegunBatch, "row">> {
  const yieldToOthers = createYield();
  const batch = new Batch();
  const rowBytes = new Map<string, number>();
  for await (const row of rows) {
    const payload = readPayload(row.payload);
    for (let from = 0; from < payload.events.length; from += sliceEvents) {
      batch.add(row, payload, from, Math.min(from + sliceEvents, payload.events.length));
      await yieldToOthers();
    }
    rowBytes.set(row.id, row.payload.length);
    const { eventCount, cellCount } = batch;
    if (eventCount >= batchEventsMax || cellCount >= batchCellsMax || rowBytes.size >= batchRowsMax) break;
  }
  return { batch, rowBytes };
}

async function endBatch(row: BatchRow, rowBytes: ReadonlyMap<string, number>, { write }: Database): Promise<void> {
  let ids: string[] = [];
  let bytes = 0;
  const all = [...rowBytes];
  for (const [index, [id, size]] of all.entries()) {
    ids.push(id);
    bytes += size;
    const isLast = index === all.length - 1;
    if (!isLast && ids.length < listLengthMax && bytes < deletedBytesMax) continue;
    await write(async ({ queries }) => {
      await deleteInboxRows(row.application_id, ids, queries);
      if (isLast) await deleteBatch(row, queries);
    });
    ids = [];
    bytes = 0;
  }
}

const pageRowsMin = 16;
const pageRowsMax = 128;
const pageCharactersMax = 262_144;

/** Reads the inbox from its oldest row, in pages that grow while the rows are small. */
async function* oldestRows(applicationId: string, { reads }: Database): AsyncGenerator<WaitingRow> {
  let after = "";
  for (let count = pageRowsMin; ; ) {
    const rows = await listInboxRows(applicationId, after, count, reads);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < count) return;
    after = last.id;
    const characters = rows.reduce((sum, { payload }) => sum + payload.length, 0);
    if (characters * 2 < pageCharactersMax) count = Math.min(count * 2, pageRowsMax);
  }
}

async function* rowsOfBatch(batch: BatchRow, { reads }: Database): AsyncGenerator<WaitingRow> {
  for (const id of rowIdsOf(batch)) {
    const row = await findInboxRow(batch.application_id, id, reads);
    if (row !== undefined) yield row; // missing rows were fully written and deleted
  }
}

/** Returns the ids of the inbox rows in a batch. */
export function rowIdsOf({ row_ids }: Pick<BatchRow, "row_ids">): string[] {
  return JSON.parse(row_ids); // written by `startBatch`
}

export type BatchRow = Selectable<Tables["metric_batches"]>;

/** Another process has taken over the batch: the transaction must roll back. */
class BatchLost extends Error {}

const findPrepared = prepare<{ applicationId: string }, BatchRow>((queries, parameter) =>
  queries.selectFrom("metric_batches").selectAll().where("application_id", "=", parameter("applicationId")),
);

async function findBatch(applicationId: string, queries: Queries): Promise<BatchRow | undefined> {
  const [row] = await findPrepared(queries, { applicationId });
  return row;
}

/** @throws a unique violation when the application already has a batch */
export async function insertBatch(row: BatchRow, queries: Queries): Promise<void> {
  await queries.insertInto("metric_batches").values(row).execute();
}

const movePrepared = prepare<
  { applicationId: string; id: string; nextId: string; doneUntil: string; leasedUntil: number; before: string },
  { id: string }
>((queries, parameter) =>
  queries
    .updateTable("metric_batches")
    .set({ id: parameter("nextId"), done_until: parameter("doneUntil"), leased_until: parameter("leasedUntil") })
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where("done_until", "=", parameter("before"))
    .returning("id"),
);

/**
 * Advances a batch, or hands it over to another process under the id in `next`.
 *
 * @throws BatchLost when the stored batch differs from `batch`
 */
async function updateBatch(
  batch: BatchRow,
  next: Pick<BatchRow, "id" | "done_until" | "leased_until">,
  queries: Queries,
): Promise<void> {
  const moved = await movePrepared(queries, {
    applicationId: batch.application_id,
    id: batch.id,
    before: batch.done_until,
    nextId: next.id,
    doneUntil: next.done_until,
    leasedUntil: next.leased_until,
  });
  if (moved.length !== 1) throw new BatchLost();
}

/** @throws BatchLost when the stored batch differs */
async function deleteBatch(batch: BatchRow, queries: Queries): Promise<void> {
  const { numDeletedRows } = await queries
    .deleteFrom("metric_batches")
    .where("application_id", "=", batch.application_id)
    .where("id", "=", batch.id)
    .executeTakeFirst();
  if (numDeletedRows !== 1n) throw new BatchLost();
}
