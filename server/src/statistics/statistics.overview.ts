import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { formatDate } from "../lib/dates.ts";
import type { ApplicationOverview, ReadOverview } from "./statistics.contract.ts";
import { listMarkers, listNewCrashes, type MarkerRow } from "./statistics.events.store.ts";
import { readAdded, readBefore, readRange, readStatistics, readToday } from "./statistics.reading.ts";
import { findTotals } from "./statistics.totals.ts";
import { listNewVersions, type VersionReports } from "./statistics.versions.store.ts";

const markersMax = 50;
const versionsMax = 10;

/**
 * Reads the overview of an application.
 *
 * @throws ApiError ParameterOutOfRange
 */
export async function readOverview(
  applicationId: string,
  parameters: Static<typeof ReadOverview>,
  now: number,
  queries: Queries,
): Promise<Static<typeof ApplicationOverview>> {
  const { interval = "minute", compare = false } = parameters;
  const range = readRange(interval, parameters, now);
  return {
    totals: await findTotals(applicationId, (since) => readAdded(applicationId, since, now, queries), queries),
    ...(await readToday(applicationId, now, queries)),
    statistics: await readStatistics(applicationId, parameters, now, queries),
    ...(compare && { before: await readBefore(applicationId, { interval, ...range }, queries) }),
    markers: presentMarkers(await listMarkers(applicationId, range, queries)),
    newVersions: presentVersions(await listNewVersions(applicationId, range, versionsMax, queries)),
    newCrashes: (await listNewCrashes(applicationId, range, queries)).map(
      ({ fingerprint, title, reports, first_seen_at }) => ({
        fingerprint,
        title,
        reports: Number(reports),
        firstSeen: formatDate(first_seen_at),
      }),
    ),
  };
}

function presentMarkers(rows: readonly MarkerRow[]): Static<typeof ApplicationOverview>["markers"] {
  return rows
    .filter(({ details }) => JSON.parse(details).error === undefined)
    .sort((a, b) => b.at - a.at)
    .slice(0, markersMax)
    .map(({ at, action, actor_name }) => ({
      at: formatDate(at),
      action,
      ...(actor_name !== "" && { by: actor_name }),
    }));
}

function presentVersions(
  rows: readonly Omit<VersionReports, "application_id">[],
): Static<typeof ApplicationOverview>["newVersions"] {
  return rows
    .toSorted((a, b) => b.first_seen_at - a.first_seen_at)
    .map(({ app_version, first_seen_at, reports, platforms }) => ({
      appVersion: app_version,
      firstSeen: formatDate(first_seen_at),
      reports,
      platforms: platforms.toSorted(),
    }));
}
