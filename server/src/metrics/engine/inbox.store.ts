import type { Selectable } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare, prepareInsert, prepareShapes } from "../../db/prepared.ts";
import { rowLimit } from "../../db/row-limit.ts";
import type { Tables } from "../../db/tables.ts";

export type InboxRow = Pick<Selectable<Tables["metric_inbox"]>, "application_id" | "id" | "received_at" | "payload">;

/** A row that waits for compaction. */
export type WaitingRow = Omit<InboxRow, "application_id">;

const insertPrepared = prepareInsert<InboxRow, never>((queries, parameter) =>
  queries.insertInto("metric_inbox").values({
    application_id: parameter("application_id"),
    id: parameter("id"),
    received_at: parameter("received_at"),
    payload: parameter("payload"),
  }),
);

/** Stores the events of a request in the inbox, from which the compaction takes them. */
export async function insertInboxRow(row: InboxRow, queries: Queries): Promise<void> {
  await insertPrepared(queries, row);
}

const listPrepared = prepare<{ applicationId: string; after: string; count: number }, WaitingRow>(
  (queries, parameter) =>
    queries
      .selectFrom("metric_inbox")
      .select(["id", "received_at", "payload"])
      .where("application_id", "=", parameter("applicationId"))
      .where("id", ">", parameter("after"))
      .orderBy("id")
      .limit(rowLimit(parameter("count"))),
);

/** Lists the oldest rows after an id. */
export function listInboxRows(
  applicationId: string,
  after: string,
  count: number,
  queries: Queries,
): Promise<WaitingRow[]> {
  return listPrepared(queries, { applicationId, after, count });
}

const findPrepared = prepare<{ applicationId: string; id: string }, WaitingRow>((queries, parameter) =>
  queries
    .selectFrom("metric_inbox")
    .select(["id", "received_at", "payload"])
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function findInboxRow(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<WaitingRow | undefined> {
  const [row] = await findPrepared(queries, { applicationId, id });
  return row;
}

const runShape = prepareShapes();
const idCounts = [1, 8, 64, 512];

/** Deletes rows, a few hundred per statement. */
export async function deleteInboxRows(applicationId: string, ids: readonly string[], queries: Queries): Promise<void> {
  for (let from = 0; from < ids.length; ) {
    const some = ids.slice(from, from + (idCounts.at(-1) ?? 1));
    from += some.length;
    const size = idCounts.find((each) => each >= some.length) ?? some.length;
    const values: Record<string, string> = { applicationId };
    // Pads with a repeated id.
    for (let index = 0; index < size; index += 1) values[`${index}`] = some[index] ?? some[0] ?? "";
    await runShape(queries, `delete ${size}`, values, (parameter) =>
      queries
        .deleteFrom("metric_inbox")
        .where("application_id", "=", parameter("applicationId"))
        .where(
          "id",
          "in",
          Array.from({ length: size }, (_, index) => parameter(`${index}`)),
        ),
    );
  }
}
