import type { ReactNode } from "react";
import type { Deployment, DeploymentStatistics } from "../api/admin.ts";
import { formatMs, formatNumber } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import styles from "./deployment.module.css";

interface DeploymentTilesProps {
  readonly deployment: Deployment;
  /** The last hour by minute. */
  readonly calls: DeploymentStatistics | undefined;
}

/** The current activity of the deployment, and that of the last hour. */
export function DeploymentTiles({ deployment: { processes, queues }, calls }: DeploymentTilesProps) {
  const valuesOf = (name: string) => calls?.series.find((series) => series.name === name)?.points ?? [];
  const of = (name: string) => valuesOf(name).map(({ value }) => value);
  const classes = ["2xx", "3xx", "4xx", "5xx"].map((name) => of(`calls.${name}`));
  const all = (classes[0] ?? []).map((_, index) => sum(classes.map((values) => values[index] ?? 0)));
  const [refused, failed, limited] = [of("calls.4xx"), of("calls.5xx"), of("rateLimited")];
  const [p50, p99] = [of("latency.p50"), of("latency.p99")];
  const heard = processes.filter(({ isSilent }) => !isSilent);
  const perSecond = (all.at(-2) ?? 0) / 60; // the last minute is not complete
  return (
    <dl className={styles.tiles}>
      <Tile label="Calls a second" value={rate(perSecond)} spark={all} what="Calls in the last hour">
        {formatNumber(sum(all))} in the last hour
      </Tile>
      <Tile label="Refused, last hour" value={formatNumber(sum(refused))} spark={refused} what="Refused calls" tone={2}>
        4xx · {share(sum(refused), sum(all))} of calls
      </Tile>
      <Tile label="Failed, last hour" value={formatNumber(sum(failed))} spark={failed} what="Failed calls" tone={6}>
        5xx · {share(sum(failed), sum(all))} of calls
      </Tile>
      <Tile
        label="Latency, p99"
        value={p99.length === 0 ? "–" : formatMs(p99.at(-1) ?? 0)}
        spark={p99}
        what="The 99th percentile of latency"
        tone={4}
      >
        {p50.length === 0 ? "No calls in the last hour" : `half within ${formatMs(p50.at(-1) ?? 0)}`}
      </Tile>
      <Tile label="Rate-limited" value={formatNumber(sum(limited))} spark={limited} what="Rate-limited calls" tone={5}>
        in the last hour
      </Tile>
      <Tile label="In progress" value={formatNumber(sum(heard.map(({ requests }) => requests)))}>
        {formatNumber(sum(heard.map(({ connections }) => connections)))} connections ·{" "}
        {formatNumber(sum(Object.values(queues)))} waiting
      </Tile>
    </dl>
  );
}

interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly children: ReactNode;
  readonly spark?: readonly number[];
  /** The values of the line. */
  readonly what?: string;
  readonly tone?: 2 | 4 | 5 | 6;
}

function Tile({ label, value, children, spark, what = "", tone }: TileProps) {
  return (
    <div className={styles.tile}>
      <dt>{label}</dt>
      <dd className={styles.value}>
        {value}
        {spark !== undefined && spark.length > 1 && <Sparkline label={what} values={spark} {...(tone && { tone })} />}
      </dd>
      <dd className={styles.note}>{children}</dd>
    </div>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function rate(value: number): string {
  return value.toLocaleString(numberLocale, { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function share(part: number, all: number): string {
  return (all === 0 ? 0 : part / all).toLocaleString(numberLocale, { style: "percent", maximumSignificantDigits: 2 });
}
