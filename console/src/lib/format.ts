import { dateLocale, numberLocale } from "./locales.ts";
import { getPreferences } from "./preferences.ts";

/** Control characters and direction marks, which can disguise a string. Joiners are allowed, because emoji need them. */
const invisible = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** Replaces each invisible character in an app's string by its code point in brackets. */
export function showInvisible(text: string): string {
  return text.replaceAll(invisible, (character) => `⟨${hexOf(character)}⟩`);
}

function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

/** The part of an id that an operator types as a confirmation: a full id would be pasted unread, and is long on a phone. */
export function endOfId(id: string): string {
  return id.slice(-4);
}

/** Applies `showInvisible` to an optional string. */
export function showOptional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : showInvisible(text);
}

export function formatNumber(value: number): string {
  return value.toLocaleString(numberLocale);
}

/** A count that the server stops at its bound: "1,000+". */
export function formatBounded(value: number, isMore: boolean): string {
  return `${formatNumber(value)}${isMore ? "+" : ""}`;
}

/** "1 device", "2 devices", "1,000+ devices". */
export function formatCount(value: number, noun: string, isMore = false): string {
  return `${formatBounded(value, isMore)} ${noun}${value === 1 && !isMore ? "" : "s"}`;
}

/** A percentage: "0.5 %". */
export function formatShare(share: number): string {
  return share.toLocaleString(numberLocale, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });
}

export function formatBytes(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const unitDisplay = power === 0 ? "long" : "short"; // "0 bytes", "1.5 MB"
  const options = { style: "unit", unit: units[power], unitDisplay, maximumFractionDigits: 1 } as const;
  return (bytes / 1000 ** power).toLocaleString(numberLocale, options);
}

/** Date and time to the second, in the time zone that the operator chose. */
export function formatExact(time: Date): string {
  const isUtc = getPreferences().timeZone === "utc";
  const zone = isUtc ? { timeZone: "UTC", timeZoneName: "short" as const } : {};
  return time.toLocaleString(dateLocale, { ...exactParts, ...zone });
}

const exactParts = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
} as const;

/** Hours, minutes and seconds, for logs of the last minutes. */
export function formatClock(at: number): string {
  const zone = getPreferences().timeZone === "utc" ? { timeZone: "UTC" } : {};
  return new Date(at).toLocaleTimeString(dateLocale, { ...clockParts, ...zone });
}

const clockParts = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;

/** Milliseconds of a call: "0.4 ms", "12 ms", "1.2 s". */
export function formatMs(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toLocaleString(numberLocale, { maximumFractionDigits: 1 })} s`;
  return `${ms.toLocaleString(numberLocale, { maximumFractionDigits: ms < 10 ? 1 : 0 })} ms`;
}

/** A day without a time, such as a date of birth, which the API gives as its midnight in UTC. */
export function formatDay(time: Date): string {
  return time.toLocaleDateString(dateLocale, {
    timeZone: "UTC",
    year: "numeric",
    month: "short",
    day: "numeric",
  });
}

/** "4 min ago", "in 3 days". */
export function formatRelative(time: Date, now = Date.now()): string {
  const seconds = (time.getTime() - now) / 1000;
  const [unit, length] = steps.find(([, , until]) => Math.abs(seconds) < until) ?? steps[0];
  if (unit === "second" && Math.abs(seconds) < 45) return seconds > 5 ? "in a moment" : "just now";
  return relative.format(Math.round(seconds / length), unit);
}

const relative = new Intl.RelativeTimeFormat(numberLocale, { numeric: "auto", style: "short" });
const steps: readonly [
  readonly [Intl.RelativeTimeFormatUnit, number, number],
  ...(readonly [Intl.RelativeTimeFormatUnit, number, number])[],
] = [
  ["second", 1, 45],
  ["minute", 60, 45 * 60],
  ["hour", 3600, 22 * 3600],
  ["day", 86_400, 26 * 86_400],
  ["month", 2_629_800, 320 * 86_400],
  ["year", 31_557_600, Number.POSITIVE_INFINITY],
];

/** A duration in its largest unit: "3 h", "14 days". */
export function formatDuration(milliseconds: number): string {
  const [unit, length] = durations.find(([, length]) => milliseconds >= length) ?? (["second", 1000] as const);
  const options = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 } as const;
  return (milliseconds / length).toLocaleString(numberLocale, options);
}

const durations = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** The start of an interval of statistics. Days are UTC days. */
export function formatMoment(at: number, intervalMs: number): string {
  if (intervalMs >= dayMs) return formatIn(at, { weekday: "short", ...dayParts, year: "numeric" }, true);
  return formatIn(at, { ...(intervalMs >= hourMs && { weekday: "short", ...dayParts }), ...timeParts });
}

/**
 * A time at the axis of a chart: the day at midnight, else the time.
 *
 * @param stepMs the distance of the times at the axis
 * @param intervalMs the length of the intervals that are shown
 */
export function formatTick(at: number, stepMs: number, intervalMs: number): string {
  const isUtc = getPreferences().timeZone === "utc" || intervalMs >= dayMs;
  const date = new Date(at);
  const isMidnight = isUtc ? at % dayMs === 0 : date.getHours() === 0 && date.getMinutes() === 0;
  return formatIn(at, stepMs >= dayMs || isMidnight ? dayParts : timeParts, isUtc);
}

function formatIn(at: number, parts: Intl.DateTimeFormatOptions, isUtc = getPreferences().timeZone === "utc"): string {
  return new Date(at).toLocaleString(dateLocale, { ...parts, ...(isUtc && { timeZone: "UTC" }) });
}

const dayParts = { month: "short", day: "numeric" } as const;
const timeParts = { hour: "2-digit", minute: "2-digit" } as const;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** "1.2K", where only the size matters. */
export function formatCompact(value: number): string {
  return value.toLocaleString(numberLocale, { notation: "compact", maximumSignificantDigits: 3 });
}
