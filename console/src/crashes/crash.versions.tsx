import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type CrashGroup, type CrashStatistics, readCrashStatistics } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { Section } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./crashes.module.css";

interface VersionsProps {
  readonly appid: string;
  readonly group: CrashGroup;
}

/** A row for each version of the app, with the systems of its reports. */
export function CrashVersions({ appid, group }: VersionsProps) {
  const { data } = useQuery({
    queryKey: ["crashes", appid, "statistics", group.fingerprint],
    queryFn: ({ signal }) => send(readCrashStatistics(appid, group.fingerprint), { signal }),
  });
  return (
    <Section title="Versions of the app" lead="Systems are those of the last 14 days, with their reports.">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it scrolls by keys */}
      <div className={styles.region} role="group" aria-label="Reports by version" tabIndex={0}>
        <table className={styles.versions}>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Reports</th>
              <th scope="col">Last seen</th>
              <th scope="col">Systems</th>
            </tr>
          </thead>
          <tbody>
            {group.versions.map(({ appVersion, reports, lastSeen }) => (
              <tr key={appVersion ?? ""}>
                <th scope="row">
                  {appVersion === undefined ? (
                    "none reported"
                  ) : (
                    <Link to="/apps/$appid/crashes" params={{ appid }} search={{ appVersion }}>
                      {showInvisible(appVersion)}
                    </Link>
                  )}
                </th>
                <td>{formatNumber(reports)}</td>
                <td>
                  <Time value={lastSeen} />
                </td>
                <td className={styles.systems}>{data !== undefined && systemsOf(data, appVersion)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

const systemsShown = 5;

/** The systems with most reports of the version: "16 (12), 19.1 (3), others (2)". */
function systemsOf({ versions }: Pick<CrashStatistics, "versions">, appVersion: string | undefined): string {
  const own = versions
    .filter((each) => each.appVersion === appVersion)
    .toSorted((one, other) => other.reports - one.reports);
  const others = own.slice(systemsShown).reduce((sum, { reports }) => sum + reports, 0);
  const shown = own
    .slice(0, systemsShown)
    .map(({ osVersion, reports }) => `${showInvisible(osVersion ?? "unknown")} (${formatNumber(reports)})`);
  return [...shown, ...(others > 0 ? [`others (${formatNumber(others)})`] : [])].join(", ");
}
