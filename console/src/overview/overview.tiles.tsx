import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ApplicationOverview } from "../api/admin.ts";
import { effectiveSettingsQuery } from "../api/queries.ts";
import { formatBytes, formatNumber } from "../lib/format.ts";
import { dateLocale, numberLocale } from "../lib/locales.ts";
import styles from "./overview.module.css";

/** The totals of the application, and today compared with the same weekday before. */
export function OverviewTiles({ overview: { totals, today, weekBefore } }: { readonly overview: ApplicationOverview }) {
  return (
    <dl className={styles.tiles}>
      <Tile
        label={counted("Users", totals.users)}
        value={formatNumber(totals.users.count)}
        today={today.newUsers}
        before={weekBefore.newUsers}
        what="new"
      />
      <Tile
        label={counted("Devices", totals.devices)}
        value={formatNumber(totals.devices.count)}
        today={today.activeDevices}
        before={weekBefore.activeDevices}
        what="active"
      />
      <Tile
        label={counted("Check-ins", totals.checkins)}
        value={formatNumber(totals.checkins.count)}
        today={today.checkins}
        before={weekBefore.checkins}
        what="new"
      />
      <Tile
        label="Files"
        value={
          <>
            {formatNumber(totals.files)} <small>{formatBytes(totals.bytes)}</small>
          </>
        }
        today={today.files}
        before={weekBefore.files}
        what="new"
      >
        <Quotas files={totals.files} bytes={totals.bytes} />
      </Tile>
      <Tile label="Calls today" value={formatNumber(today.calls)} today={today.calls} before={weekBefore.calls} />
      <Tile
        label="Errors today"
        value={
          <>
            {formatNumber(today.errors)} <small>{shareOf(today.errors, today.calls)}</small>
          </>
        }
        today={today.errors}
        before={weekBefore.errors}
      />
    </dl>
  );
}

const nearlyFull = 0.9;

/** How much of the quotas of files is used, if the application has any. */
function Quotas({ files, bytes }: { readonly files: number; readonly bytes: number }) {
  const { appid } = useParams({ from: "/frame/apps/$appid/overview" });
  const { data } = useQuery(effectiveSettingsQuery(appid));
  const { bytesPerApplication, filesPerApplication } = data?.values.quotas ?? {};
  const quotas = [
    { label: "of their number", used: files, quota: filesPerApplication, format: formatNumber },
    { label: "of the storage", used: bytes, quota: bytesPerApplication, format: formatBytes },
  ];
  return quotas.map(
    ({ label, used, quota, format }) =>
      typeof quota === "number" && (
        <dd key={label} className={styles.quota}>
          <meter
            aria-label={`Use ${label}`}
            value={used}
            max={Math.max(quota, 1)}
            data-full={used >= quota * nearlyFull || undefined}
          />
          <Link to="/apps/$appid/settings" params={{ appid }} search={{ part: "storage" }}>
            {shareOf(used, quota)} of {format(quota)}
          </Link>
        </dd>
      ),
  );
}

/** A number that may have been counted last night is "about" so many. */
function counted(noun: string, { isExact }: ApplicationOverview["totals"]["users"]): string {
  return isExact ? noun : `${noun}, about`;
}

function shareOf(part: number, all: number): string {
  const options = { style: "percent", maximumSignificantDigits: 2 } as const;
  return (all === 0 ? 0 : part / all).toLocaleString(numberLocale, options);
}

interface TileProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly today: number;
  /** On the same weekday before, until the same hour. */
  readonly before: number;
  /** The unit of today's number, unless it is the value. */
  readonly what?: string;
  readonly children?: ReactNode;
}

function Tile({ label, value, today, before, what, children }: TileProps) {
  const day = new Date().toLocaleDateString(dateLocale, { weekday: "long", timeZone: "UTC" });
  return (
    <div className={styles.tile}>
      <dt>{label}</dt>
      <dd className={styles.value}>{value}</dd>
      <dd className={styles.change}>
        {what !== undefined && (
          <b>
            {formatNumber(today)} {what} today
          </b>
        )}
        <span>
          {formatNumber(before)} last {day}
        </span>
      </dd>
      {children}
    </div>
  );
}
