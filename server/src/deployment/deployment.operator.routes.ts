import { sql } from "kysely";
import { isPostgresUrl } from "../config/database-url.ts";
import { build } from "../config/version.ts";
import type { Static } from "../contract/schema.ts";
import { countRows } from "../db/count-rows.ts";
import type { Database } from "../db/database.ts";
import { type Backup, findBackup } from "../db/deployment-facts.ts";
import type { JobStatus } from "../jobs/job.ts";
import { formatDate } from "../lib/dates.ts";
import { operation } from "../operations/operation.ts";
import { Deployment } from "./deployment.contract.ts";
import { listReports } from "./deployment.processes.store.ts";
import { findWarnings, isBroken, isReporting } from "./deployment.warnings.ts";
import type { Queues, ReportingProcess } from "./process-report.ts";

/** How long a silent process is shown. */
const shownMs = 300_000;

const readDeployment = operation({
  method: "GET",
  path: "/_/api/deployment",
  operation: "readDeployment",
  summary: "Read whether the deployment is well, with its processes, queues, storage and settings",
  description: "Each process reports itself every ten seconds. Secrets of settings are not shown.",
  tag: "Operators",
  caller: "operator",
  status: 200,
  result: Deployment,
  errors: [],
  async handle(_, { config, database, ownReports }) {
    const own = await ownReports.take();
    const now = own.heardAt;
    const [reports, { schema, ...storage }, backup] = await Promise.all([
      listReports(now, database.reads),
      findStorage(database),
      findBackup(database.reads),
    ]);
    const known = [own, ...reports.filter(({ id }) => id !== own.id)];
    const heard = known.filter((process) => isReporting(process, now));
    const warnings = findWarnings(known, now).map(({ code, text, since }) => ({
      ...{ code, text },
      ...(since !== undefined && { since: formatDate(since) }),
    }));
    return {
      state: isBroken(known, now)
        ? ("broken" as const)
        : warnings.length > 0
          ? ("attention" as const)
          : ("well" as const),
      warnings,
      version: build,
      node: process.version,
      engine: isPostgresUrl(config.databaseUrl) ? ("postgresql" as const) : ("sqlite" as const),
      schema,
      region: config.region,
      since: formatDate(Math.min(...heard.map(({ startedAt }) => startedAt))),
      processes: known
        .filter(({ heardAt, report }) => heardAt > now - shownMs && report.hasEnded === undefined)
        .sort((a, b) => (a.machine < b.machine ? -1 : a.machine > b.machine ? 1 : a.worker - b.worker))
        .map((process) => presentProcess(process, now)),
      queues: sumOf(heard.map(({ report }) => report.queues)),
      storage: { ...storage, ...fullestDisk(heard) },
      ...(backup !== undefined && { backup: presentBackup(backup) }),
      settings: [...config.changedSettings],
    };
  },
});

type Process = Static<typeof Deployment>["processes"][number];

function presentProcess(process: ReportingProcess, now: number): Process {
  const { machine, worker, version, startedAt, heardAt, report } = process;
  const { cpu, memoryBytes, loopDelayMs, connections, requests, databaseConnections, queues, jobs = [] } = report;
  return {
    ...{ machine, worker, version, since: formatDate(startedAt), heard: formatDate(heardAt) },
    isSilent: !isReporting(process, now),
    ...{ cpu, memoryBytes, loopDelayMs, connections, requests, databaseConnections, queues },
    jobs: jobs.map(presentJob),
  };
}

function presentJob({ name, finishedAt, ms, failedAt, failures }: JobStatus): Process["jobs"][number] {
  return {
    ...{ name, failures },
    ...(finishedAt !== undefined && { finished: formatDate(finishedAt), durationMs: ms ?? 0 }),
    ...(failedAt !== undefined && { failed: formatDate(failedAt) }),
  };
}

function presentBackup({ at, bytes, isWithoutFiles }: Backup) {
  return { created: formatDate(at), bytes, isWithoutFiles };
}

function sumOf(each: readonly Queues[]): Queues {
  const sum = (name: keyof Queues) => each.reduce((total, queues) => total + queues[name], 0);
  return {
    passwords: sum("passwords"),
    pictures: sum("pictures"),
    transactions: sum("transactions"),
    background: sum("background"),
    events: sum("events"),
    audit: sum("audit"),
  };
}

function fullestDisk(heard: readonly ReportingProcess[]) {
  const disks = heard.flatMap(({ report }) => report.disk ?? []);
  return disks.sort((a, b) => a.freeBytes - b.freeBytes)[0] ?? {};
}

/** The state of the deployment, for operators (spec/deployment#state-of-a-deployment). */
export const deploymentOperations = [readDeployment];

/** Reads the size of the database, the stored sums of all files, and the name of the last migration. */
async function findStorage({ dialect, reads }: Pick<Database, "dialect" | "reads">) {
  const [size, usage, orphanedObjects, last] = await Promise.all([
    dialect.databaseBytes.execute(reads),
    // Joined from applications, because file_usage also has a row for each user.
    sql<{ files: number | null; bytes: number | null }>`
      select cast(sum(files) as bigint) as files, cast(sum(bytes) as bigint) as bytes
      from applications
      join file_usage on file_usage.application_id = applications.application_id and file_usage.user_id = ''
    `.execute(reads),
    countRows(sql`from loose_bytes`, reads),
    sql<{ name: string | null }>`select max(name) as name from schema_migrations`.execute(reads),
  ]);
  const [{ files, bytes } = { files: 0, bytes: 0 }] = usage.rows;
  return {
    databaseBytes: Number(size.rows[0]?.bytes),
    files: Number(files),
    bytes: Number(bytes),
    orphanedObjects,
    schema: last.rows[0]?.name ?? "",
  };
}
