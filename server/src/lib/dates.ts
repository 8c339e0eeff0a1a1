import { type Parsed, type Refused, refuseFormat, refuseRange } from "./parsed.ts";

/** A time span in milliseconds since 1970-01-01 UTC, including `start` and `end`. An absent bound is open. */
export type DateRange = { start?: number; end?: number };

const dateRule = "must be a date such as /Date(1436425641000)/ or 2015-07-09T07:07:21Z";
const yearsRule = "must be a date between the years 0001 and 9999";
const rangeRule = "must be a range of dates <start>-<end>, such as 2015-01-01-2015-01-31 or /Date(1436425641000)/-";
const orderRule = "must not end before it starts";

const textCharactersMax = 100;
/** The earliest valid date. */
export const earliestMs = -62_135_596_800_000; // 0001-01-01T00:00:00.000Z
/** The latest valid date. */
export const latestMs = 253_402_300_799_999; // 9999-12-31T23:59:59.999Z

/** Formats a time as `/Date(<milliseconds>)/`, the only form in responses (spec/transport#dates). */
export function formatDate(ms: number): string {
  return `/Date(${ms})/`;
}

/**
 * Parses a date in any form that clients send (spec/transport#dates) into milliseconds since 1970-01-01 UTC:
 *
 * - `/Date(<ms>)/`, or integer milliseconds as a number or a string, possibly negative; .NET writes `/Date(<ms>±hhmm)/`
 * for a local time, with milliseconds that are also in UTC
 * - ISO 8601: `yyyy-MM-dd`, optionally with `Thh:mm`, `Thh:mm:ss` or `Thh:mm:ss.f` and `Z`, `±hh:mm`, `±hhmm`, `±hh` or
 * no offset (UTC); digits beyond the millisecond are truncated; `T` may be a blank, as databases write it
 * - `yyyy/M/d` and `MM/dd/yyyy HH:mm:ss`, in UTC
 * - `Jul 9, 1981 7:07:21 AM` in UTC; newer Java libraries write a comma after the year and a narrow space before AM
 *
 * Surrounding white space is ignored. Dates and times that do not exist (30 February, hour 24, second 60) do not parse;
 * an instant outside of the years 0001 to 9999 is a "range" problem.
 */
export function parseDate(input: unknown): Parsed<number> {
  if (typeof input === "number") return Number.isInteger(input) ? checkYears(input) : refuseFormat(dateRule);
  if (typeof input !== "string" || input.length > textCharactersMax) return refuseFormat(dateRule);
  const text = input.trim();
  for (const pattern of millisecondForms) {
    const ms = pattern.exec(text)?.[1];
    if (ms !== undefined) return checkYears(Number(ms));
  }
  for (const pattern of calendarForms) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined) return readCalendar(groups);
  }
  return refuseFormat(dateRule);
}

/**
 * Parses `<start>-<end>`, each a date as in {@link parseDate}, or empty or `(null)` for an open bound
 * (spec/transport#date-ranges); surrounding white space is ignored. Both bounds are instants and inclusive:
 * `2015-01-31` as the end is the midnight at the start of the day. An end before its start is a "range" problem, a
 * single date a "format" problem.
 *
 * Dates also contain dashes, so every dash is tried as the separator, from the left. The first dash with a date or an
 * open bound on each side, in order, wins. So a leading dash is an open start if the rest is a date (`-5` is up to 5,
 * `--3` up to -3, `-2015-01-01` up to this day), and otherwise the sign of the start (`-5--3` is -5 to -3, `-5-` is
 * from -5). An ISO date whose offset could be an end is a single date if this end would be before it:
 * `2015-01-01T00:00-0500` is a "format" problem, but with the year 1965 it is a range up to 500.
 */
export function parseDateRange(input: unknown): Parsed<DateRange> {
  if (typeof input !== "string" || input.length > textCharactersMax) return refuseFormat(rangeRule);
  let refused: Refused | undefined;
  for (let dash = input.indexOf("-"); dash !== -1; dash = input.indexOf("-", dash + 1)) {
    const range = readRange(input.slice(0, dash), input.slice(dash + 1));
    if ("value" in range) return range;
    if (range.problem === "range") refused ??= range;
  }
  return refused === undefined || "value" in parseDate(input) ? refuseFormat(rangeRule) : refused;
}

function readRange(startText: string, endText: string): Parsed<DateRange> {
  const start = readEnd(startText);
  if ("problem" in start && start.problem === "format") return start;
  const end = readEnd(endText);
  if ("problem" in end) return end;
  if ("problem" in start) return start;
  const range: DateRange = {};
  if (start.value !== undefined) range.start = start.value;
  if (end.value !== undefined) range.end = end.value;
  const { start: first = earliestMs, end: last = latestMs } = range;
  return last < first ? refuseRange(orderRule) : { value: range };
}

function readEnd(text: string): Parsed<number | undefined> {
  const trimmed = text.trim();
  return trimmed === "" || trimmed === "(null)" ? { value: undefined } : parseDate(trimmed);
}

const millisecondForms = [/^\/Date\((-?\d+)(?:[+-](?:[01]\d|2[0-3])[0-5]\d)?\)\/$/, /^(-?\d+)$/];

// Years of five and six digits match, so that they are refused as out of range instead of as malformed.
// Date.toISOString writes the signed form.
const plainYear = String.raw`(?<year>\d{4}|[1-9]\d{4,5})`;
const isoYear = String.raw`(?<year>\d{4}|[1-9]\d{4,5}|[+-]\d{6})`;
const isoOffset = String.raw`(?<offset>Z|[+-]\d\d(?::?\d\d)?)`;
const isoTime = String.raw`(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?${isoOffset}?`;
const clock = String.raw`:(?<minute>\d\d):(?<second>\d\d)`;
const calendarForms = [
  new RegExp(String.raw`^${isoYear}-(?<month>\d\d)-(?<day>\d\d)(?:[T ]${isoTime})?$`, "i"),
  new RegExp(String.raw`^${plainYear}/(?<month>\d\d?)/(?<day>\d\d?)$`),
  new RegExp(String.raw`^(?<month>\d\d)/(?<day>\d\d)/${plainYear} (?<hour>\d\d)${clock}$`),
  new RegExp(
    String.raw`^(?<month>[a-z]{3}) (?<day>\d\d?), ${plainYear},? (?<hour>\d\d?)${clock}[ \u00a0\u202f](?<half>[AP]M)$`,
    "i",
  ),
];

function readCalendar(groups: Partial<Record<string, string>>): Parsed<number> {
  const { year = "", month = "", day = "", half } = groups;
  const { hour = "0", minute = "0", second = "0", fraction = "", offset = "Z" } = groups;
  const years = Number(year);
  const months = readMonth(month);
  const days = Number(day);
  const hours = half === undefined ? Number(hour) : readHalfDayHour(Number(hour), half);
  const offsetMinutes = readOffset(offset);
  const exists =
    months >= 1 &&
    months <= 12 &&
    days >= 1 &&
    days <= daysInMonth(years, months) &&
    hours <= 23 &&
    Number(minute) <= 59 &&
    Number(second) <= 59 &&
    !Number.isNaN(offsetMinutes);
  if (!exists) return refuseFormat(dateRule);
  const midnight = new Date(0).setUTCFullYear(years, months - 1, days); // Date.UTC maps the years 0 to 99 to 19xx
  const minutes = hours * 60 + Number(minute) - offsetMinutes;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, "0"));
  return checkYears(midnight + minutes * 60_000 + Number(second) * 1_000 + milliseconds);
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

function readMonth(text: string): number {
  const index = monthNames.indexOf(text.toLowerCase());
  return index === -1 ? Number(text) : index + 1;
}

/**
 * Returns the hour of the day, or NaN for an hour that does not exist on a twelve-hour clock. 12 AM is midnight, 12 PM
 * noon.
 */
function readHalfDayHour(hour: number, half: string): number {
  if (hour < 1 || hour > 12) return Number.NaN;
  return (hour % 12) + (half.toUpperCase() === "PM" ? 12 : 0);
}

/** Returns minutes east of UTC, or NaN for an offset of 24 hours or more, or with 60 minutes or more. */
function readOffset(text: string): number {
  if (text.toUpperCase() === "Z") return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(3).replace(":", ""));
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** The calendar repeats every 400 years, so any year maps to one that Date supports. */
function daysInMonth(years: number, months: number): number {
  return new Date(Date.UTC(2000 + (years % 400), months, 0)).getUTCDate();
}

/** Accepts NaN, which Date returns for an instant that it cannot represent. */
function checkYears(ms: number): Parsed<number> {
  return ms >= earliestMs && ms <= latestMs ? { value: ms + 0 } : refuseRange(yearsRule); // + 0 turns -0 into 0
}
