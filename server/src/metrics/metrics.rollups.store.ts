import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { RollupRow } from "./metrics.payload.ts";

const findPrepared = prepare<{ applicationId: string; id: string }, { data: Uint8Array }>((queries, parameter) =>
  queries
    .selectFrom("metric_rollups")
    .select("data")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function findRollup(applicationId: string, id: string, queries: Queries): Promise<Uint8Array | undefined> {
  const [row] = await findPrepared(queries, { applicationId, id });
  return row?.data;
}

const putPrepared = prepare<RollupRow & { applicationId: string }, never>((queries, parameter) =>
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
  await putPrepared(queries, { applicationId, ...row });
}
