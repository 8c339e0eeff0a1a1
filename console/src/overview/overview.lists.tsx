import { Link, useParams } from "@tanstack/react-router";
import type { Overview } from "../api/statistics.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import styles from "./overview.module.css";

const shownMax = 8;

/** What fails, and what is called, most. */
export function OverviewLists({ overview: { statistics } }: { readonly overview: Overview }) {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const { errors = [], operations = [] } = statistics;
  return (
    <div className={styles.lists}>
      <section className={styles.list}>
        <h2>Top errors</h2>
        {errors.length === 0 && <p>None in this time.</p>}
        <ol>
          {errors.slice(0, shownMax).map(({ operation = "", error = "", message = "", count, isOther }) => (
            <li key={`${operation} ${error} ${message}`}>
              <span>
                {isOther === true ? (
                  "All others"
                ) : (
                  <Link to="/apps/$appid/requests" params={{ appid }} search={{ operation, error }}>
                    {showInvisible(message)}
                  </Link>
                )}
                {isOther !== true && (
                  <small>
                    {operation} · {error}
                  </small>
                )}
              </span>
              <b>{formatNumber(count)}</b>
            </li>
          ))}
        </ol>
      </section>
      <section className={styles.list}>
        <h2>Busiest operations</h2>
        {operations.length === 0 && <p>None in this time.</p>}
        <ol>
          {operations.slice(0, shownMax).map(({ operation, calls, errors, p95 }) => (
            <li key={operation}>
              <span>
                {operation}
                <small>
                  {errors > 0 && `${formatNumber(errors)} failed · `}
                  {p95 !== undefined && `p95 ${Math.round(p95)} ms`}
                </small>
              </span>
              <b>{formatNumber(calls)}</b>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}
