import type { ReactNode } from "react";
import type { Overview } from "../api/statistics.ts";
import { formatBytes, formatNumber } from "../lib/format.ts";
import styles from "./overview.module.css";

/** The totals of the application, and today compared with the same weekday before. */
export function OverviewTiles({ overview: { totals, today, weekBefore } }: { readonly overview: Overview }) {
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
      />
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

/** A number that may have been counted last night is "about" so many. */
function counted(noun: string, { isExact }: Overview["totals"]["users"]): string {
  return isExact ? noun : `${noun}, about`;
}

function shareOf(part: number, all: number): string {
  const options = { style: "percent", maximumSignificantDigits: 2 } as const;
  return (all === 0 ? 0 : part / all).toLocaleString(undefined, options);
}

interface TileProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly today: number;
  /** On the same weekday before, until the same hour. */
  readonly before: number;
  /** The unit of today's number, unless it is the value. */
  readonly what?: string;
}

function Tile({ label, value, today, before, what }: TileProps) {
  const day = new Date().toLocaleDateString(undefined, { weekday: "long", timeZone: "UTC" });
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
    </div>
  );
}
