import { durationBounds } from "../lib/histogram.ts";
import type { ReportingProcess } from "./process-report.ts";
import type { WarningCode } from "./warning-codes.ts";

interface Warning {
  readonly code: WarningCode;
  readonly text: string;
  readonly since: number | undefined;
}

const silentMs = 30_000;
const clockMsMax = 30_000;

/** Below this, writes may fail. */
const diskBytesBroken = 500e6;
const diskBytesLow = 2e9;
const diskShareLow = 0.1;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The minimum number of statements for a meaningful percentile. */
const statementsMin = 20;

interface Deployment {
  /** The processes that report. */
  readonly reporting: readonly ReportingProcess[];
  /** All processes that reported within a day. */
  readonly known: readonly ReportingProcess[];
  readonly now: number;
}

/** Returns the text of a warning, or undefined without a reason for it. */
type Rule = (deployment: Deployment) => string | undefined;

const rules: Readonly<Record<WarningCode, Rule>> = {
  databaseAway: ({ reporting, now }) =>
    about(reporting, ({ report }) => isSince(report.databaseAwayAt, now - minuteMs), "could not reach the database"),
  databaseSlow({ reporting }) {
    const bound = p95Bound(reporting);
    if (bound === undefined || bound <= 0.25) return undefined;
    return `5 % of the statements of the last five minutes took longer than ${bound === Infinity ? 30 : lower(bound)} s.`;
  },
  diskLow({ reporting }) {
    const low = fullest(reporting.filter(({ report: { disk } }) => disk !== undefined && isLow(disk)));
    if (low?.report.disk === undefined) return undefined;
    const { freeBytes, diskBytes } = low.report.disk;
    const share = Math.floor((freeBytes / diskBytes) * 100);
    return `${low.machine} has ${(freeBytes / 1e9).toFixed(1)} GB of its disk left (${share} %).`;
  },
  loopLate({ reporting }) {
    const late = reporting.filter(({ report }) => report.loopDelayMs > 200);
    const most = Math.round(Math.max(...late.map(({ report }) => report.loopDelayMs)));
    return about(late, () => true, `began 1 % of the work of a minute more than ${most} ms late`);
  },
  queueFull({ reporting }) {
    const refused = sum(reporting, ({ report }) => report.refused);
    return refused === 0 ? undefined : `Full queues refused ${refused} sign-ins, pictures or mails in five minutes.`;
  },
  backlog({ reporting }) {
    const events = sum(reporting, ({ report }) => report.queues.events);
    return events < 300_000 ? undefined : `${events.toLocaleString("en")} metric events wait for compaction.`;
  },
  maintenanceLate({ reporting, known, now }) {
    const last = latest(known.map(({ report }) => report.maintainedAt));
    const startedAt = Math.min(...reporting.map((each) => each.startedAt));
    const minutes = Math.floor((now - (last ?? startedAt)) / minuteMs);
    return minutes < 10 ? undefined : `No maintenance was finished for ${minutes} minutes.`;
  },
  auditLost: ({ reporting, now }) =>
    about(reporting, ({ report }) => isSince(report.auditLostAt, now - hourMs), "lost entries of the audit log"),
  logLost: ({ reporting, now }) =>
    about(reporting, ({ report }) => isSince(report.logLostAt, now - hourMs), "lost log lines"),
  certificateEnds({ reporting, now }) {
    const ends = reporting.flatMap(({ report }) => report.certificateEnds ?? []);
    const days = Math.floor((Math.min(...ends) - now) / dayMs);
    if (ends.length === 0 || days >= 14) return undefined;
    return days < 0 ? "The certificate has ended." : `The certificate ends in ${days} days.`;
  },
  mailToFiles: ({ reporting }) =>
    reporting.some(({ report }) => report.writesMailsToFiles)
      ? "Mails are written to files, because SMTP_URL is not set."
      : undefined,
  publicUrlMissing: ({ reporting }) =>
    reporting.some(({ report }) => report.lacksPublicUrl)
      ? "PUBLIC_URL is not set, so links in events and webhooks have the address of a machine."
      : undefined,
  clearTransport: ({ reporting, now }) =>
    reporting.some(({ report }) => isSince(report.clearAt, now - hourMs))
      ? "Another machine called without https in the last hour. Behind a proxy, TRUST_PROXY says which."
      : undefined,
  mixedVersions({ reporting, now }) {
    const byVersion = Map.groupBy(reporting, ({ version }) => version);
    const firsts = [...byVersion.values()].map((processes) => Math.min(...processes.map((each) => each.startedAt)));
    if (byVersion.size < 2 || now - Math.max(...firsts) <= hourMs) return undefined;
    return `Processes run the versions ${[...byVersion.keys()].sort().join(" and ")}.`;
  },
  secretsDiffer({ reporting }) {
    const inUse = reporting.flatMap(({ report }) => report.sealsWith ?? []);
    const lacks = ({ report: { secrets } }: ReportingProcess) =>
      secrets !== undefined && inUse.some((each) => !secrets.includes(each));
    return about(reporting, lacks, "has another ROLLCALL_SECRET than other processes");
  },
  regionsDiffer({ reporting }) {
    const regions = [...new Set(reporting.flatMap(({ report }) => report.region ?? []))].sort();
    return regions.length < 2 ? undefined : `Processes run with REGION=${regions.join(" and REGION=")}.`;
  },
  clockDiffers: ({ reporting, now }) =>
    about(
      reporting,
      ({ heardAt, report }) => isClockWrong(report.clockAheadMs) || heardAt > now + clockMsMax,
      "has a clock that differs by more than 30 seconds from that of the database or of another process",
    ),
  regionAway({ reporting }) {
    const regions = [...new Set(reporting.flatMap(({ report }) => report.regionsAway))].sort();
    return regions.length === 0 ? undefined : `Cannot be reached: ${regions.join(", ")}.`;
  },
  signInGuard({ reporting }) {
    const waits = sum(reporting, ({ report }) => report.signInWaits);
    return waits < 10 ? undefined : `Waiting times were imposed on sign-ins ${waits} times in ten minutes.`;
  },
};

/** Whether a clock differs too much from the clock of the database. */
export function isClockWrong(aheadMs = 0): boolean {
  return Math.abs(aheadMs) > clockMsMax;
}

/**
 * Finds the warnings for operators (spec/deployment#warnings).
 * @param known the processes that reported within a day, with their last reports
 */
export function findWarnings(known: readonly ReportingProcess[], now: number): Warning[] {
  const reporting = known.filter((process) => isReporting(process, now));
  if (reporting.length === 0) return [];
  return Object.entries(rules).flatMap(([name, rule]) => {
    const code = name as WarningCode; // a key of rules
    const text = rule({ reporting, known, now });
    const begins = reporting.flatMap(({ report }) => report.since[code] ?? []);
    return text === undefined ? [] : [{ code, text, since: begins.length === 0 ? undefined : Math.min(...begins) }];
  });
}

export function isReporting({ heardAt, report }: ReportingProcess, now: number): boolean {
  return heardAt > now - silentMs && report.hasEnded === undefined;
}

/** Whether operations fail, or are about to fail. */
export function isBroken(known: readonly ReportingProcess[], now: number): boolean {
  const reporting = known.filter((process) => isReporting(process, now));
  const { disk } = fullest(reporting)?.report ?? {};
  return rules.databaseAway({ reporting, known, now }) !== undefined || (disk?.freeBytes ?? Infinity) < diskBytesBroken;
}

function isLow({ freeBytes, diskBytes }: { readonly freeBytes: number; readonly diskBytes: number }): boolean {
  return freeBytes < diskBytesLow || freeBytes < diskBytes * diskShareLow;
}

function fullest(processes: readonly ReportingProcess[]): ReportingProcess | undefined {
  const freeOf = ({ report }: ReportingProcess) => report.disk?.freeBytes ?? Infinity;
  return [...processes].sort((a, b) => freeOf(a) - freeOf(b))[0];
}

/** The upper bound, in seconds, of the histogram bucket with the 95th percentile of all statements. */
function p95Bound(reporting: readonly ReportingProcess[]): number | undefined {
  const counts = Array.from({ length: durationBounds.length + 1 }, (_, index) =>
    sum(reporting, ({ report }) => report.statements[index] ?? 0),
  );
  const all = counts.reduce((total, count) => total + count, 0);
  if (all < statementsMin) return undefined;
  let below = 0;
  const index = counts.findIndex((count) => {
    below += count;
    return below >= all * 0.95;
  });
  return durationBounds[index] ?? Infinity;
}

/** The lower bound of a bucket. */
function lower(bound: number): number | undefined {
  return durationBounds[durationBounds.indexOf(bound) - 1];
}

/** Describes the machines whose processes meet a condition. */
function about(
  processes: readonly ReportingProcess[],
  holds: (process: ReportingProcess) => boolean,
  what: string,
): string | undefined {
  const machines = [...new Set(processes.filter(holds).map(({ machine }) => machine))].sort();
  if (machines.length === 0) return undefined;
  const [first, ...others] = machines;
  return `${first}${others.length === 0 ? "" : ` and ${others.length} other machines`} ${what}.`;
}

function isSince(at: number | undefined, earliest: number): boolean {
  return at !== undefined && at > earliest;
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((at) => at !== undefined);
  return given.length === 0 ? undefined : Math.max(...given);
}

function sum(processes: readonly ReportingProcess[], of: (process: ReportingProcess) => number): number {
  return processes.reduce((total, process) => total + of(process), 0);
}
