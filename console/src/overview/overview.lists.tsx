import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useRef } from "react";
import { type ApplicationOverview, getImpactOfApplication, listAudit } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { useSeen } from "../lib/use-seen.ts";
import { actorName, refusalOf, wordsOf } from "../shell/audit-words.ts";
import parts from "../ui/parts.module.css";
import { Time } from "../ui/time.tsx";
import styles from "./overview.module.css";

const shownMax = 8;

interface ListsProps {
  readonly overview: ApplicationOverview;
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

/** The most frequent operations, the devices, and the latest entries of the audit log. */
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
      <LatestEntries />
    </div>
  );
}

/** The latest entries of the audit log, whatever the period is; read once they are in sight, once a minute at most. */
function LatestEntries() {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const section = useRef<HTMLElement>(null);
  const isSeen = useSeen(section);
  const { data } = useQuery({
    queryKey: ["audit", appid, "latest"],
    enabled: isSeen,
    queryFn: ({ signal }) => send(listAudit({ appid, pageSize: shownMax }), { signal }),
    staleTime: 60_000,
  });
  const nothing = data === undefined ? "" : "There is no entry about this application.";
  return (
    <List title="Latest in the audit log" nothing={nothing} section={section}>
      {(data?.pageResults ?? []).map((entry) => (
        <Row
          key={entry.id}
          detail={
            <>
              {showInvisible(actorName(entry))} · <Time value={entry.at} />
              {refusalOf(entry) !== undefined && " · refused"}
            </>
          }
        >
          <Link to="/apps/$appid/audit" params={{ appid }} search={{ panel: entry.id }}>
            {wordsOf(entry.action)}
          </Link>
        </Row>
      ))}
    </List>
  );
}

/** The apps and platforms of the devices of the last day, which are counted once a minute at most. */
function DevicesOfLastDay() {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const { data } = useQuery({
    queryKey: ["impact", appid, "last-day"],
    queryFn: ({ signal }) => send(getImpactOfApplication(appid), { signal }),
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
  /** Shown for an empty list. */
  readonly nothing: string;
  readonly children: readonly ReactNode[];
  readonly section?: RefObject<HTMLElement | null>;
}

function List({ title, nothing, children, section }: ListProps) {
  return (
    <section ref={section} className={`${parts.counts} ${styles.list}`}>
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
