import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { ApplicationRegionRow } from "../db/tables.ts";

/** Finds the other region that serves an application, or is about to. */
export async function findHost(applicationId: string, queries: Queries): Promise<string | undefined> {
  const [row] = await findServing(queries, { applicationId });
  return row?.region;
}

const findServing = prepare<{ applicationId: string }, { region: string }>((queries, parameter) =>
  queries
    .selectFrom("application_regions")
    .select("region")
    .where("application_id", "=", parameter("applicationId"))
    .where("state", "not in", ["handing over", "arrived"]),
);

export function findApplicationRegion(
  applicationId: string,
  queries: Queries,
): Promise<ApplicationRegionRow | undefined> {
  return queries
    .selectFrom("application_regions")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("state", "!=", "arrived")
    .executeTakeFirst();
}

/** True if the application has moved here, and not away since; it may have been deleted. */
export async function hasArrived(applicationId: string, queries: Queries): Promise<boolean> {
  const row = await queries
    .selectFrom("application_regions")
    .select("region")
    .where("application_id", "=", applicationId)
    .where("state", "=", "arrived")
    .executeTakeFirst();
  return row !== undefined;
}

/** Records the region of an application, replacing an earlier record. */
export async function putApplicationRegion(row: ApplicationRegionRow, queries: Queries): Promise<void> {
  const { region, state, changed_at } = row;
  await queries
    .insertInto("application_regions")
    .values(row)
    .onConflict((conflict) => conflict.column("application_id").doUpdateSet({ region, state, changed_at }))
    .execute();
}

export async function deleteApplicationRegion(applicationId: string, queries: Queries): Promise<void> {
  await queries.deleteFrom("application_regions").where("application_id", "=", applicationId).execute();
}

/** All remote applications, oldest first. */
export function listApplicationRegions(queries: Queries): Promise<ApplicationRegionRow[]> {
  return queries
    .selectFrom("application_regions")
    .selectAll()
    .where("state", "!=", "arrived")
    .orderBy("application_id")
    .execute();
}
