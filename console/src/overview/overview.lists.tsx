import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { getApplicationImpact } from "../api/keys.ts";
import type { Overview } from "../api/statistics.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import parts from "../ui/parts.module.css";
import { Time } from "../ui/time.tsx";
import { listChanges } from "./overview.changes.ts";
import styles from "./overview.module.css";

const shownMax = 8;

interface ListsProps {
  readonly overview: Overview;
}

/** The most frequent failures, and the crashes that are new. */
export function Troubles({ overview: { statistics, newCrashes } }: ListsProps) {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const { errors = [] } = statistics;
  return (
    <div className={styles.troubles}>
      <List title="Top errors" nothing="None in this period.">
        {errors.slice(0, shownMax).map(({ operation = "", error = "", message = "", count, isOther = false }) => (
          <Row
            key={`${operation} ${error} ${message}`}
            number={count}
            detail={!isOther && (message === "" ? operation : `${operation} · ${error}`)}
          >
            {isOther ? (
              "All others"
            ) : (
              <Link to="/apps/$appid/requests" params={{ appid }} search={{ operation, error }}>
                {message === "" ? error : showInvisible(message)}
              </Link>
            )}
          </Row>
        ))}
      </List>
      <List title="New crashes" nothing="None in this period.">
        {newCrashes.map(({ fingerprint, title, reports, firstSeen }) => (
          <Row key={fingerprint} number={reports} detail={<Time value={firstSeen} />}>
            <Link to="/apps/$appid/crashes/$fingerprint" params={{ appid, fingerprint }}>
              {showInvisible(title)}
            </Link>
          </Row>
        ))}
      </List>
    </div>
  );
}

/** The most frequent operations, and the changes of operators. */
export function Activity({ overview }: ListsProps) {
  const { operations = [] } = overview.statistics;
  return (
    <div className={styles.activity}>
      <List title="Busiest operations" nothing="No calls in this period.">
        {operations.slice(0, shownMax).map(({ operation, calls, errors, p95 }) => (
          <Row
            key={operation}
            number={calls}
            detail={[
              ...(errors > 0 ? [`${formatNumber(errors)} failed`] : []),
              ...(p95 === undefined ? [] : [`p95 ${Math.round(p95)} ms`]),
            ].join(" · ")}
          >
            {operation}
          </Row>
        ))}
      </List>
      <DevicesOfLastDay />
      <List title="Changes" nothing="No settings or keys were changed in this period.">
        {listChanges(overview)
          .slice(0, shownMax)
          .map(({ at, label }) => (
            <Row key={`${at} ${label}`} detail={<Time value={`/Date(${at})/`} />}>
              {label}
            </Row>
          ))}
      </List>
    </div>
  );
}

/** The apps and platforms of the devices of the last day, which are counted once a minute at most. */
function DevicesOfLastDay() {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const { data } = useQuery({
    queryKey: ["impact", appid, "last-day"],
    queryFn: ({ signal }) => getApplicationImpact({ appid }, { signal }),
    staleTime: 60_000,
  });
  if (data === undefined) return null;
  return (
    <>
      <List title="Versions of the app, last day" nothing="No device was active in the last day.">
        {data.appVersions.slice(0, shownMax).map(({ appVersion, devices }) => (
          <Row key={appVersion ?? ""} number={devices} detail={undefined}>
            {appVersion === undefined ? (
              "none reported"
            ) : (
              <Link to="/apps/$appid/devices" params={{ appid }} search={{ appVersion }}>
                {showInvisible(appVersion)}
              </Link>
            )}
          </Row>
        ))}
      </List>
      <List title="Platforms, last day" nothing="No device was active in the last day.">
        {data.platforms.slice(0, shownMax).map(({ platform, devices }) => (
          <Row key={platform} number={devices} detail={undefined}>
            <Link to="/apps/$appid/devices" params={{ appid }} search={{ platform }}>
              {showInvisible(platform)}
            </Link>
          </Row>
        ))}
      </List>
    </>
  );
}

interface ListProps {
  readonly title: string;
  /** The text for an empty list. */
  readonly nothing: string;
  readonly children: readonly ReactNode[];
}

function List({ title, nothing, children }: ListProps) {
  return (
    <section className={`${parts.counts} ${styles.list}`}>
      <h2>{title}</h2>
      {children.length === 0 ? <p>{nothing}</p> : <ol>{children}</ol>}
    </section>
  );
}

interface RowProps {
  readonly children: ReactNode;
  readonly detail: ReactNode;
  readonly number?: number;
}

function Row({ children, detail, number }: RowProps) {
  return (
    <li>
      <span>
        {children}
        <small>{detail}</small>
      </span>
      {number !== undefined && <b>{formatNumber(number)}</b>}
    </li>
  );
}
