import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import { listLiving, type Range } from "./statistics.store.ts";

/** The reports of a version, as in the table `app_versions`. */
export interface VersionReports {
  readonly application_id: string;
  readonly app_version: string;
  readonly first_seen_at: number;
  readonly reports: number;
}

const deletedAtOnce = 500;

/** Adds reports of different versions, in one transaction. Those of applications that no longer exist here are omitted. */
export function addVersionReports(rows: readonly VersionReports[], { write }: Database): Promise<void> {
  return write(async ({ queries }) => {
    const living = await listLiving(rows, queries);
    const added = rows.filter(({ application_id }) => living.has(application_id)).sort(byKey);
    if (added.length === 0) return;
    await queries
      .insertInto("app_versions")
      .values(added)
      .onConflict((conflict) =>
        conflict.columns(["application_id", "app_version"]).doUpdateSet({
          reports: sql`app_versions.reports + excluded.reports`,
          first_seen_at: sql`case when excluded.first_seen_at < app_versions.first_seen_at
            then excluded.first_seen_at else app_versions.first_seen_at end`,
        }),
      )
      .execute();
  });
}

/** One order in all processes, so that they do not wait for each other's rows. */
function byKey(one: VersionReports, other: VersionReports): number {
  if (one.application_id !== other.application_id) return one.application_id < other.application_id ? -1 : 1;
  return one.app_version < other.app_version ? -1 : 1;
}

/** The versions that were first reported in a range, those with the most reports; never the first one of an application. */
export async function listNewVersions(
  applicationId: string,
  { from, to }: Range,
  count: number,
  queries: Queries,
): Promise<Omit<VersionReports, "application_id">[]> {
  const rows = await queries
    .selectFrom("app_versions")
    .select(["app_version", "first_seen_at", "reports"])
    .where("application_id", "=", applicationId)
    .where("first_seen_at", ">=", from)
    .where("first_seen_at", "<", to)
    .where("first_seen_at", ">", (select) =>
      select
        .selectFrom("app_versions as known")
        .select((eb) => eb.fn.min("known.first_seen_at").as("first"))
        .where("known.application_id", "=", applicationId),
    )
    .orderBy("reports", "desc")
    .orderBy("first_seen_at", "desc")
    .orderBy("app_version")
    .limit(rowLimit(count))
    .execute();
  return rows;
}

/** Some of the versions of an application beyond so many, those with the fewest reports. */
export async function listVersionsBeyond(count: number, applicationId: string, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("app_versions")
    .select("app_version")
    .where("application_id", "=", applicationId)
    .orderBy("reports", "desc")
    .orderBy("first_seen_at", "desc")
    .orderBy("app_version")
    .offset(count)
    .limit(rowLimit(deletedAtOnce))
    .execute();
  return rows.map(({ app_version }) => app_version);
}

export async function deleteVersions(
  applicationId: string,
  appVersions: readonly string[],
  queries: Queries,
): Promise<void> {
  await queries
    .deleteFrom("app_versions")
    .where("application_id", "=", applicationId)
    .where("app_version", "in", appVersions)
    .execute();
}
