import { dayMs, type Granularity, hourMs } from "./series.ts";

/** The interval between two points of a chart, in UTC. Weeks start on Monday. */
export type Interval = "hour" | "day" | "week" | "month";

/** Returns the bucket size that makes up an interval. */
export function granularityOf(interval: Interval): Granularity {
  return interval === "hour" ? "hour" : "day";
}

/** 1970-01-05, a Monday. */
const mondayMs = 4 * dayMs;

/** Returns the start of the interval that contains a time. */
export function intervalStart(interval: Interval, at: number): number {
  switch (interval) {
    case "hour":
      return Math.floor(at / hourMs) * hourMs;
    case "day":
      return Math.floor(at / dayMs) * dayMs;
    case "week":
      return Math.floor((at - mondayMs) / (7 * dayMs)) * 7 * dayMs + mondayMs;
    case "month":
      return startOfMonth(at, 0);
  }
}

/** Returns the start of the next interval. */
export function nextInterval(interval: Interval, start: number): number {
  switch (interval) {
    case "hour":
      return start + hourMs;
    case "day":
      return start + dayMs;
    case "week":
      return start + 7 * dayMs;
    case "month":
      return startOfMonth(start, 1);
  }
}

function startOfMonth(at: number, monthsLater: number): number {
  const date = new Date(at);
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  return new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1);
}
