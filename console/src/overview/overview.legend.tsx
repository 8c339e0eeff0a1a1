import { Link, useParams } from "@tanstack/react-router";
import type { ApplicationOverview } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { Time } from "../ui/time.tsx";
import { MarkerSign } from "../ui/time-chart.marker.tsx";
import { platformsOf } from "./overview.changes.ts";
import styles from "./overview.module.css";

const versionsShown = 3;

/** The meaning of the markers on the charts, with the latest versions of the app; nothing without markers. */
export function MarkerLegend({ overview: { markers, newVersions } }: { readonly overview: ApplicationOverview }) {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  if (markers.length === 0 && newVersions.length === 0) return null;
  const more = newVersions.length - versionsShown;
  return (
    <ul className={styles.legend} aria-label="Markers on the charts">
      {newVersions.slice(0, versionsShown).map((version) => (
        <li key={version.appVersion}>
          <MarkerSign kind="version" />
          <span>
            New app version{" "}
            <Link to="/apps/$appid/devices" params={{ appid }} search={{ appVersion: version.appVersion }}>
              {showInvisible(version.appVersion)}
            </Link>
            {platformsOf(version)}, <Time value={version.firstSeen} />
          </span>
        </li>
      ))}
      {more > 0 && <li>{more === 1 ? "1 more version" : `${more} more versions`}</li>}
      {markers.length > 0 && (
        <li>
          <MarkerSign kind="change" />
          <Link to="/apps/$appid/audit" params={{ appid }}>
            {markers.length === 1 ? "1 change" : `${markers.length} changes`} of settings and keys
          </Link>
        </li>
      )}
    </ul>
  );
}
