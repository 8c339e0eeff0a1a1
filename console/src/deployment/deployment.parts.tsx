import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Deployment, type DeploymentStatistics, listApplications } from "../api/admin.ts";
import { firstApplicationsQuery } from "../api/queries.ts";
import { known, send } from "../api/send.ts";
import { formatBounded, formatBytes, formatNumber, showInvisible } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import { DetailList } from "../ui/detail-list.tsx";
import { Time } from "../ui/time.tsx";
import styles from "./deployment.module.css";

const busiestShown = 10;

/** The applications with the most calls in the last 15 minutes. */
export function Busiest({ calls }: { readonly calls: DeploymentStatistics | undefined }) {
  const busiest = calls?.busiest.slice(0, busiestShown) ?? [];
  const names = useNames(busiest.map(({ appid }) => appid));
  const most = Math.max(1, ...busiest.map((each) => each.calls));
  return (
    <section className={styles.part}>
      <h2>Busiest applications</h2>
      {busiest.length === 0 && <p>No application was called in the last 15 minutes.</p>}
      <ol className={styles.busiest}>
        {busiest.map(({ appid, calls: count, errors }) => (
          <li key={appid}>
            <Link to="/apps/$appid/overview" params={{ appid }}>
              {showInvisible(names.get(appid) ?? appid)}
            </Link>
            <meter min={0} max={most} value={count} aria-label="Share of the busiest" />
            <span>
              {(count / 15).toLocaleString(numberLocale, { maximumFractionDigits: 1 })} a minute
              <small>{errors === 0 ? "no errors" : `${formatNumber(errors)} errors`}</small>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The names of applications, of which most deployments have few. */
function useNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const { data: first } = useQuery(firstApplicationsQuery);
  const known = new Map(first?.pageResults.map(({ id, name }) => [id, name]));
  const { data: busiest } = useQuery({
    queryKey: ["applications", "busiest", ids],
    queryFn: ({ signal }) => send(listApplications({ sortOrder: "busiest", pageSize: busiestShown }), { signal }),
    enabled: first !== undefined && ids.some((id) => !known.has(id)),
    placeholderData: keepPreviousData,
  });
  return new Map([...known, ...(busiest?.pageResults ?? []).map(({ id, name }) => [id, name] as const)]);
}

export function Storage({ deployment: { storage, backup } }: { readonly deployment: Deployment }) {
  const { databaseBytes, files, bytes, orphanedObjects, freeBytes, diskBytes } = storage;
  return (
    <section className={styles.part}>
      <h2>Storage</h2>
      <DetailList
        items={[
          ["Database", formatBytes(databaseBytes)],
          ["Files", `${formatNumber(files)} (${formatBytes(bytes)})`],
          ["To be deleted", `${formatBounded(orphanedObjects.count, orphanedObjects.isMore)} objects`],
          [
            "Free on the fullest disk",
            freeBytes !== undefined && diskBytes !== undefined ? (
              <span key="disk">
                {formatBytes(freeBytes)} of {formatBytes(diskBytes)}
              </span>
            ) : undefined,
          ],
          [
            "Newest backup",
            backup === undefined ? "none by rollcall backup" : <BackupAge key="backup" backup={backup} />,
          ],
        ]}
      />
    </section>
  );
}

function BackupAge({
  backup: { created, bytes, isWithoutFiles },
}: {
  readonly backup: NonNullable<Deployment["backup"]>;
}) {
  return (
    <>
      <Time value={created} /> ({formatBytes(bytes)}
      {isWithoutFiles && ", without files"})
    </>
  );
}

const engines = { sqlite: "SQLite", postgresql: "PostgreSQL" } as const;

export function Facts({ deployment }: { readonly deployment: Deployment }) {
  const { version, node, engine, schema, region, since } = deployment;
  return (
    <section className={styles.part}>
      <h2>This release</h2>
      <DetailList
        items={[
          ["Rollcall", version],
          ["Node.js", node],
          ["Database", engines[known(engine)]],
          ["Schema", schema],
          ["Region", region],
          ["Since", <Time key="since" value={since} isExact />],
        ]}
      />
    </section>
  );
}

export function ChangedSettings({ settings }: { readonly settings: Deployment["settings"] }) {
  return (
    <section className={styles.part}>
      <h2>Settings that differ from their defaults</h2>
      {settings.length === 0 && <p>All settings have their defaults.</p>}
      <dl className={styles.settings}>
        {settings.map(({ name, value, about }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <code>{showInvisible(value)}</code>
              <p>{about}</p>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
