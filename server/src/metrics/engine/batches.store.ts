import type { Selectable } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare } from "../../db/prepared.ts";
import type { Tables } from "../../db/tables.ts";

export type BatchRow = Selectable<Tables["metric_batches"]>;

/** Another process has taken over the batch: the transaction must roll back. */
export class BatchLost extends Error {}

const findPrepared = prepare<{ applicationId: string }, BatchRow>((queries, parameter) =>
  queries.selectFrom("metric_batches").selectAll().where("application_id", "=", parameter("applicationId")),
);

export async function findBatch(applicationId: string, queries: Queries): Promise<BatchRow | undefined> {
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
export async function updateBatch(
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
export async function deleteBatch(batch: BatchRow, queries: Queries): Promise<void> {
  const { numDeletedRows } = await queries
    .deleteFrom("metric_batches")
    .where("application_id", "=", batch.application_id)
    .where("id", "=", batch.id)
    .executeTakeFirst();
  if (numDeletedRows !== 1n) throw new BatchLost();
}
