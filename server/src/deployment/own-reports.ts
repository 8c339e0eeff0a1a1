import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { monitorEventLoopDelay } from "node:perf_hooks";
import type { Audit } from "../audit/audit.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { isLoopback } from "../config/networks.ts";
import { build } from "../config/version.ts";
import { workerNumber } from "../config/worker-number.ts";
import type { Database } from "../db/database.ts";
import { type Backup, findBackup } from "../db/deployment-facts.ts";
import type { HttpServer } from "../http/http-server.ts";
import type { Background } from "../jobs/background.ts";
import type { Jobs } from "../jobs/job.ts";
import type { Clock } from "../lib/clock.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import type { LaneStatistics } from "../limits/fair-queue.ts";
import type { Outbox } from "../mail/outbox.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { RegionCalls } from "../regions/regions.calls.ts";
import { createFreeSpace } from "../storage/free-space.ts";
import { findWarnings, isClockWrong } from "./deployment.warnings.ts";
import type { ProcessReport, ReportingProcess } from "./process-report.ts";
import type { Traffic } from "./traffic.ts";
import type { WarningCode } from "./warning-codes.ts";

/** The reports of this process (spec/deployment#processes-of-a-deployment). */
export interface OwnReports {
  /** Starts to measure the event loop. */
  start(): void;
  take(): Promise<ReportingProcess>;
  /** Compares the clock with the database's for the next reports, and logs a difference of more than 30 seconds. */
  measureClock(): Promise<void>;
  /** How far the clock is ahead of the database's, if measured. */
  readonly clockAheadMs: number | undefined;
  /** Reads the newest backup for scrapes. */
  readBackup(): Promise<void>;
  readonly backup: Backup | undefined;
  /** Records whether the database has accepted a report. */
  noteDatabaseAway(error: unknown): void;
  noteDatabaseBack(): void;
  /** Whether the database refused the last report. */
  readonly isDatabaseAway: boolean;
  close(): void;
}

export interface ReportSources {
  readonly clock: Clock;
  readonly traffic: Traffic;
  readonly database: Pick<Database, "dialect" | "reads" | "statistics">;
  readonly secrets: OwnSecrets;
  readonly passwords: Pick<Passwords, "statistics">;
  readonly pictures: Pick<Pictures, "statistics">;
  readonly background: Pick<Background, "runningCount">;
  readonly compactor: { statistics(): { readonly waiting: number } };
  readonly audit: Pick<Audit, "waitingCount" | "lostAt">;
  readonly mails: Pick<Outbox, "statistics">;
  readonly regionCalls: Pick<RegionCalls, "unreachableSince">;
  readonly signInAlerts: { readonly lockOuts: Readonly<Record<string, number>> };
  readonly jobs: Pick<Jobs, "statuses">;
  readonly log: Pick<Log, "info" | "losses" | "warn">;
  certificateEnds(): ReturnType<HttpServer["certificateEnds"]>;
}

const minuteMs = 60_000;
/** The monitor counts its own interval as a delay. */
const loopResolutionMs = 50;
const regionsShown = 16;

type ReportConfig = Pick<Config, "dataDir" | "databaseUrl" | "filesUrl" | "host" | "publicUrl" | "region" | "smtpUrl">;

export function createOwnReports(config: ReportConfig, sources: ReportSources): OwnReports {
  const { clock, database } = sources;
  const startedAt = clock.now();
  const ofProcess = {
    id: randomBytes(9).toString("base64url"),
    machine: hostname().slice(0, 255),
    worker: workerNumber ?? 1,
    version: build,
    startedAt,
  };
  const loop = createLoopDelay();
  const measure = createMeasurement(config, sources, { startedAt, loop });
  const since = new Map<WarningCode, number>();
  let databaseAwayAt: number | undefined;
  let clockAheadMs: number | undefined;
  let isDatabaseAway = false;
  let backup: Backup | undefined;

  return {
    start: loop.start,
    async take() {
      const now = clock.now() - (clockAheadMs ?? 0);
      const measured = { ...(await measure(now)), databaseAwayAt, clockAheadMs };
      const unwarned = { ...ofProcess, heardAt: now, report: { ...measured, since: {} } };
      const codes = new Set(findWarnings([unwarned], now).map(({ code }) => code));
      for (const code of since.keys()) if (!codes.has(code)) since.delete(code);
      for (const code of codes) if (!since.has(code)) since.set(code, now);
      return { ...unwarned, report: { ...measured, since: Object.fromEntries(since) } };
    },
    async measureClock() {
      const wasWrong = isClockWrong(clockAheadMs);
      clockAheadMs = await measureClockAhead(database, clock);
      if (isClockWrong(clockAheadMs) && !wasWrong)
        sources.log.warn(
          { ahead_ms: clockAheadMs },
          "the clock differs from that of the database: synchronize both with NTP",
        );
    },
    get clockAheadMs() {
      return clockAheadMs;
    },
    async readBackup() {
      backup = await findBackup(database.reads);
    },
    get backup() {
      return backup;
    },
    noteDatabaseAway(err) {
      databaseAwayAt = clock.now();
      if (!isDatabaseAway) sources.log.warn({ err }, "the database accepts no writes");
      isDatabaseAway = true;
    },
    noteDatabaseBack() {
      if (isDatabaseAway) sources.log.info("the database accepts writes again");
      isDatabaseAway = false;
    },
    get isDatabaseAway() {
      return isDatabaseAway;
    },
    close: loop.stop,
  };
}

/** Measures this process for a report. */
function createMeasurement(
  config: ReportConfig,
  sources: ReportSources,
  { startedAt, loop }: { readonly startedAt: number; readonly loop: LoopDelay },
): (now: number) => Promise<Omit<ProcessReport, "clockAheadMs" | "databaseAwayAt" | "since">> {
  const { traffic, database, passwords, pictures, background, compactor, audit, mails, secrets } = sources;
  const freeSpace = createFreeSpace(config);
  const cpu = createCpuShare();
  const statements = createRecentIncrease(5 * minuteMs, startedAt);
  const refused = createRecentIncrease(5 * minuteMs, startedAt);
  const signInWaits = createRecentIncrease(10 * minuteMs, startedAt);

  function sumOfRefused(): number {
    const { outbox } = mails.statistics().refused;
    return sumOf(passwords.statistics().lanes, "refused") + sumOf(pictures.statistics(), "refused") + outbox;
  }

  return async (now) => {
    const { statements: seconds, waiting, connections } = database.statistics();
    const [lockOuts = 0] = signInWaits.add(now, [total(Object.values(sources.signInAlerts.lockOuts))]);
    const jobs = sources.jobs.statuses();
    const [refusals = 0] = refused.add(now, [sumOfRefused()]);
    return {
      cpu: cpu(),
      memoryBytes: process.memoryUsage.rss(),
      loopDelayMs: loop.p99(),
      connections: traffic.connections,
      requests: traffic.requests,
      databaseConnections: connections,
      queues: {
        passwords: sumOf(passwords.statistics().lanes, "waiting"),
        pictures: sumOf(pictures.statistics(), "waiting"),
        transactions: waiting,
        background: background.runningCount,
        events: compactor.statistics().waiting,
        audit: audit.waitingCount,
      },
      statements: statements.add(now, [...seconds.counts]),
      refused: refusals,
      signInWaits: lockOuts,
      disk: await freeSpace.measure(),
      jobs,
      maintainedAt: jobs.find(({ name }) => name === "maintenance")?.finishedAt,
      auditLostAt: audit.lostAt,
      logLostAt: sources.log.losses.at,
      clearAt: traffic.clearAt,
      certificateEnds: sources.certificateEnds(),
      regionsAway: sources.regionCalls.unreachableSince(now - 60 * minuteMs).slice(0, regionsShown),
      writesMailsToFiles: config.smtpUrl === undefined,
      lacksPublicUrl: config.publicUrl === undefined && !isLoopback(config.host),
      region: config.region,
      secrets: secrets.fingerprints,
      sealsWith: secrets.fingerprints[secrets.sealing],
    };
  };
}

/** Returns how far the clock of this process is ahead of the database's; undefined if the database has no clock. */
async function measureClockAhead(
  { dialect, reads }: ReportSources["database"],
  clock: Clock,
): Promise<number | undefined> {
  if (dialect.time === undefined) return undefined;
  const before = clock.now();
  const { rows } = await dialect.time.execute(reads);
  const [{ at } = { at: before }] = rows;
  return Math.round((before + clock.now()) / 2 - at);
}

/** Measures the share of one processor between two calls. */
function createCpuShare(): () => number {
  let before = process.cpuUsage();
  let at = performance.now();
  return () => {
    const { user, system } = process.cpuUsage(before);
    const ms = performance.now() - at;
    if (ms < 1) return 0;
    before = process.cpuUsage();
    at = performance.now();
    return Math.round((user + system) / ms / 10) / 100;
  };
}

interface LoopDelay {
  start(): void;
  /** The 99th percentile of the last full minute, in ms. */
  p99(): number;
  stop(): void;
}

/** Measures the delay of the event loop per minute. */
function createLoopDelay(): LoopDelay {
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let fullMinute: number | undefined;
  let startedAt = performance.now();
  return {
    start() {
      // Loaded here, because loading takes 2 % of the start time.
      delays = process.getBuiltinModule("node:perf_hooks").monitorEventLoopDelay({ resolution: loopResolutionMs });
      delays.enable();
    },
    p99() {
      if (delays === undefined) return 0;
      const measured = delays.count === 0 ? 0 : Math.max(delays.percentile(99) / 1e6 - loopResolutionMs, 0);
      const rounded = Math.round(measured * 10) / 10;
      if (performance.now() - startedAt < minuteMs) return fullMinute ?? rounded;
      fullMinute = rounded;
      delays.reset();
      startedAt = performance.now();
      return rounded;
    },
    stop: () => void delays?.disable(),
  };
}

function sumOf(lanes: Readonly<Record<string, LaneStatistics>>, what: keyof LaneStatistics): number {
  return total(Object.values(lanes).map((lane) => lane[what]));
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, each) => sum + each, 0);
}

/** The increase of monotonic counters in a recent time span. */
interface RecentIncrease {
  /** @returns the increase of each counter within the time span, or since the start of the process */
  add(now: number, counts: readonly number[]): number[];
}

interface Sample {
  readonly at: number;
  readonly counts: readonly number[];
}

/** @param startedAt when all counters were 0 */
export function createRecentIncrease(spanMs: number, startedAt: number): RecentIncrease {
  const samples: Sample[] = [{ at: startedAt, counts: [] }];
  return {
    add(now, counts) {
      samples.push({ at: now, counts });
      // Leaves one sample from before the time span as the reference.
      while (samples[1] !== undefined && samples[1].at <= now - spanMs) samples.shift();
      return counts.map((count, index) => count - (samples[0]?.counts[index] ?? 0));
    },
  };
}
