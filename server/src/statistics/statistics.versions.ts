import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import type { Range } from "../lib/spans.ts";
import { listExisting } from "./statistics.store.ts";

/** Counts the reports of app versions in memory until they are saved (spec/statistics#new-versions-of-the-app). */
export interface VersionCounts {
  add(applicationId: string, appVersion: string, platform: string, at: number): void;
  /**
   * Writes the counts. After a failure, the next call tries again.
   *
   * @throws ApiError ServiceUnavailable
   */
  save(): Promise<void>;
}

interface Reports {
  readonly firstSeenAt: number;
  readonly reports: number;
  readonly platforms: readonly string[];
}

/** The number of versions of one application between two saves. */
const versionsPerSave = 20;
/** The number of versions of all applications that may wait while the database is unavailable; about 300 bytes each. */
const waitingMax = 10_000;
const rowsPerStatement = 500;
/** The number of versions of one application in the database. */
const versionsMax = 1_000;

export function createVersionCounts(database: Database): VersionCounts {
  let counted = new Map<string, Map<string, Reports>>();
  let waiting = 0;

  function addReports(applicationId: string, appVersion: string, { firstSeenAt, reports, platforms }: Reports): void {
    const versions = counted.get(applicationId) ?? new Map<string, Reports>();
    const known = versions.get(appVersion);
    if (known === undefined && waiting >= waitingMax) return;
    if (known === undefined && versions.size >= versionsPerSave && !dropRarest(versions, reports)) return;
    const sum = {
      firstSeenAt: Math.min(firstSeenAt, known?.firstSeenAt ?? firstSeenAt),
      reports: reports + (known?.reports ?? 0),
      platforms: joinPlatforms(known?.platforms ?? [], platforms),
    };
    const before = versions.size;
    versions.set(appVersion, sum);
    counted.set(applicationId, versions);
    waiting += versions.size - before;
  }

  /**
   * A new version replaces the rarest one, unless all have more reports, so that a flood of invented versions cannot
   * displace a real one.
   */
  function dropRarest(versions: Map<string, Reports>, reports: number): boolean {
    const [rarest, least] = [...versions].reduce((one, other) => (other[1].reports < one[1].reports ? other : one));
    if (least.reports > reports) return false;
    waiting -= 1;
    return versions.delete(rarest);
  }

  function takeRows(): VersionReports[] {
    const taken = counted;
    counted = new Map();
    waiting = 0;
    return [...taken].flatMap(([application_id, versions]) =>
      [...versions].map(([app_version, { firstSeenAt, reports, platforms }]) => ({
        application_id,
        app_version,
        first_seen_at: firstSeenAt,
        reports,
        platforms,
      })),
    );
  }

  return {
    add(applicationId, appVersion, platform, at) {
      addReports(applicationId, appVersion, { firstSeenAt: at, reports: 1, platforms: [platform] });
    },
    async save() {
      let rows = takeRows();
      try {
        while (rows.length > 0) {
          await addVersionReports(rows.slice(0, rowsPerStatement), database);
          rows = rows.slice(rowsPerStatement);
        }
      } catch (error) {
        for (const { application_id, app_version, first_seen_at, reports, platforms } of rows)
          addReports(application_id, app_version, { firstSeenAt: first_seen_at, reports, platforms });
        throw error;
      }
    },
  };
}

/** Deletes the least reported versions of an application that has more than a thousand. */
export async function deleteRareVersions(applicationId: string, database: Database): Promise<void> {
  const rare = await listVersionsBeyond(versionsMax, applicationId, database.reads);
  if (rare.length > 0) await database.write(({ queries }) => deleteVersions(applicationId, rare, queries));
}

/** The reports of a version, as stored in `app_versions`. */
export interface VersionReports {
  readonly application_id: string;
  readonly app_version: string;
  readonly first_seen_at: number;
  readonly reports: number;
  readonly platforms: readonly string[];
}

const deletedAtOnce = 500;
/** Per version, because a client can report any platform. */
const platformsMax = 10;
const platformCharactersMax = 50;

/** Merges platforms. If there are too many, the first ones stay; longer names are omitted. */
function joinPlatforms(known: readonly string[], added: readonly string[]): readonly string[] {
  const fitting = added.filter(({ length }) => length <= platformCharactersMax);
  return [...new Set([...known, ...fitting])].slice(0, platformsMax);
}

/** Adds reports of different versions in one transaction. Skips those of applications that no longer exist here. */
function addVersionReports(rows: readonly VersionReports[], { write }: Database): Promise<void> {
  return write(async ({ queries }) => {
    const existing = await listExisting(rows, queries);
    const added = rows.filter(({ application_id }) => existing.has(application_id)).sort(byKey);
    if (added.length === 0) return;
    const stored = await queries
      .insertInto("app_versions")
      .values(added.map((row) => ({ ...row, platforms: JSON.stringify(row.platforms) })))
      .onConflict((conflict) =>
        conflict.columns(["application_id", "app_version"]).doUpdateSet({
          reports: sql`app_versions.reports + excluded.reports`,
          first_seen_at: sql`case when excluded.first_seen_at < app_versions.first_seen_at
            then excluded.first_seen_at else app_versions.first_seen_at end`,
        }),
      )
      .returning(["application_id", "app_version", "platforms"])
      .execute();
    for (const { application_id, app_version, platforms } of stored) {
      const isSame = (row: VersionReports) => row.application_id === application_id && row.app_version === app_version;
      const all = JSON.stringify(joinPlatforms(JSON.parse(platforms), added.find(isSame)?.platforms ?? []));
      if (all === platforms) continue;
      await queries
        .updateTable("app_versions")
        .set({ platforms: all })
        .where("application_id", "=", application_id)
        .where("app_version", "=", app_version)
        .execute();
    }
  });
}

/** The same order in all processes, to prevent deadlocks. */
function byKey(one: VersionReports, other: VersionReports): number {
  if (one.application_id !== other.application_id) return one.application_id < other.application_id ? -1 : 1;
  return one.app_version < other.app_version ? -1 : 1;
}

/**
 * Lists the versions first reported in a range, the most reported first, except the first version of an application.
 */
export async function listNewVersions(
  applicationId: string,
  { from, to }: Range,
  count: number,
  queries: Queries,
): Promise<Omit<VersionReports, "application_id">[]> {
  const rows = await queries
    .selectFrom("app_versions")
    .select(["app_version", "first_seen_at", "reports", "platforms"])
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
  return rows.map((row) => ({ ...row, platforms: JSON.parse(row.platforms) }));
}

/** Lists some of an application's versions in excess of `count`, the least reported first. */
async function listVersionsBeyond(count: number, applicationId: string, queries: Queries): Promise<string[]> {
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

async function deleteVersions(applicationId: string, appVersions: readonly string[], queries: Queries): Promise<void> {
  await queries
    .deleteFrom("app_versions")
    .where("application_id", "=", applicationId)
    .where("app_version", "in", appVersions)
    .execute();
}
