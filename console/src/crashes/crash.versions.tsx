import { useQuery } from "@tanstack/react-query";
import { type CrashGroup, type CrashStatistics, readCrashStatistics } from "../api/crashes.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { Section } from "../ui/page.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./crashes.module.css";

interface VersionsProps {
  readonly appid: string;
  readonly group: CrashGroup;
}

/** A row for each version of the app, a column for each version of the system. */
export function CrashVersions({ appid, group }: VersionsProps) {
  const { data } = useQuery({
    queryKey: ["crashes", appid, "statistics", group.fingerprint],
    queryFn: ({ signal }) => readCrashStatistics({ appid, fingerprint: group.fingerprint }, { signal }),
  });
  const systems = data === undefined ? [] : systemsOf(data);
  return (
    <Section title="Versions of the app" lead="Systems are those of the last 14 days.">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it scrolls by keys */}
      <div className={styles.region} role="group" aria-label="Reports by version" tabIndex={0}>
        <table className={styles.versions}>
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Reports</th>
              {systems.map(({ name }) => (
                <th scope="col" key={name}>
                  {showInvisible(name)}
                </th>
              ))}
              <th scope="col">Last seen</th>
            </tr>
          </thead>
          <tbody>
            {group.versions.map(({ appVersion, reports, lastSeen }) => (
              <tr key={appVersion ?? ""}>
                <th scope="row">{appVersion === undefined ? "none reported" : showInvisible(appVersion)}</th>
                <td>{formatNumber(reports)}</td>
                {systems.map(({ name, reportsOf }) => (
                  <td key={name}>{formatNumber(reportsOf(appVersion))}</td>
                ))}
                <td>
                  <Time value={lastSeen} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

const systemsShown = 5;

interface System {
  readonly name: string;
  readonly reportsOf: (appVersion: string | undefined) => number;
}

/** The systems with most reports, then all others together. */
function systemsOf({ versions }: Pick<CrashStatistics, "versions">): System[] {
  const totals = new Map<string | undefined, number>();
  for (const { osVersion, reports } of versions) totals.set(osVersion, (totals.get(osVersion) ?? 0) + reports);
  const names = [...totals].sort(([, one], [, other]) => other - one).map(([osVersion]) => osVersion);
  const system = (name: string, ofSystem: readonly (string | undefined)[]): System => ({
    name,
    reportsOf(appVersion) {
      const counted = versions.filter((each) => each.appVersion === appVersion && ofSystem.includes(each.osVersion));
      return counted.reduce((sum, { reports }) => sum + reports, 0);
    },
  });
  const others = names.slice(systemsShown);
  return [
    ...names
      .slice(0, systemsShown)
      .map((osVersion) => system(osVersion === undefined ? "unknown" : `on ${osVersion}`, [osVersion])),
    ...(others.length > 0 ? [system("others", others)] : []),
  ];
}
