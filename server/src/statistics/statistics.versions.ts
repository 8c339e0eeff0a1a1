import type { Database } from "../db/database.ts";
import {
  addVersionReports,
  deleteVersions,
  joinPlatforms,
  listVersionsBeyond,
  type VersionReports,
} from "./statistics.versions.store.ts";

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
