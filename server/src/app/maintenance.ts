import { keepLogSettings } from "../applications/applications.log-settings.ts";
import {
  deleteApplicationRows,
  endLapsedImport,
  findLiveApplication,
  listApplications,
} from "../applications/applications.store.ts";
import { finishMove } from "../archives/moves.export.ts";
import { dropLeftovers } from "../archives/moves.import.ts";
import { countAuditLog, deleteOldAuditCounts } from "../audit/audit.counts.ts";
import { deleteOldAuditRows } from "../audit/audit.store.ts";
import { deleteExpiredOperatorSessions } from "../auth/operator-sessions.ts";
import { listEndedTestCallers } from "../auth/test-callers.ts";
import { deleteExpiredUserTokens } from "../auth/user-tokens.ts";
import { createClockGuard } from "../deployment/clock-guard.ts";
import { deleteOldCrashReports } from "../devices/devices.crash-reports.store.ts";
import { eraseTestDevice } from "../devices/devices.erasure.ts";
import { settleUploads } from "../files/files.resumable.finish.ts";
import { deleteExpiredReplies } from "../idempotency/idempotency.store.ts";
import { deleteEndedUsage } from "../idempotency/idempotency.usage.ts";
import type { RunningJob } from "../jobs/job.ts";
import { finishErasure, listUnfinishedErasures } from "../jobs/metadata-erasure.ts";
import { deleteExpiredCounters } from "../limits/counters.ts";
import { deleteExpiredMailLimits } from "../mail/mail-limits.ts";
import { deleteOldMetrics } from "../metrics/engine/retention.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import { listApplicationRegions } from "../regions/regions.directory.store.ts";
import { compactStatistics } from "../statistics/statistics.store.ts";
import { updateTotals } from "../statistics/statistics.totals.ts";
import { deleteRareVersions } from "../statistics/statistics.versions.ts";
import { eraseOldOrphans } from "../storage/orphaned-objects.ts";
import { loadGuardedSettings, retentionOf } from "../tenancy/application-settings.ts";
import { sealOutdatedSettings } from "../tenancy/settings-changes.ts";
import { eraseUser, updateUserDeleted } from "../users/users.erasure.ts";
import { findUser, listUnfinishedUsers } from "../users/users.store.ts";
import { maintainWebhooks } from "../webhooks/webhooks.maintenance.ts";
import type { App } from "./app.ts";

const intervalMs = 60_000;
/** A round may start this much early, so that timer jitter does not make a single process skip it. */
const toleranceMs = 5_000;
const leaseMs = 60_000;
const usersPerRound = 1_000;
const testCallersPerRound = 1_000;
/** The maximum wait of a shutdown, because an unreachable file store can block a step for a minute. */
const stepMsMax = 1_000;
const dayMs = 86_400_000;
const unfinishedWritesMs = 86_400_000; // longer than the slowest upload
const objectsPerRound = 1_000;

/**
 * Deletes expired rows and erases deleted objects every minute, in bounded steps, in one process per database; after a
 * crash of that process, another one continues a minute later.
 *
 * @param everyMs the interval at which this process tries to acquire the lease
 */
export function startMaintenance(app: App, everyMs = intervalMs): Pick<RunningJob, "stop"> {
  const { clock, log } = app;
  const clockGuard = createClockGuard(app);
  const job = app.jobs.start({
    name: "maintenance",
    everyMs,
    failure: "maintenance failed, and is retried in a minute",
    lease: { forMs: leaseMs, restMs: intervalMs - toleranceMs },
    isDue: () => clockGuard.mayDelete(clock.now()),
    async run(signal) {
      const startedAt = clock.now();
      await maintain(app, signal);
      await clockGuard.finished(clock.now());
      log.debug({ ms: clock.now() - startedAt }, "maintenance");
    },
  });
  return { stop: () => job.stop(stepMsMax) };
}

/** Runs a step of an application, or of the deployment if the id is empty. */
type Run = (step: string, applicationId: string, work: (signal?: AbortSignal) => Promise<unknown>) => Promise<void>;

type Steps = Readonly<Record<string, (signal?: AbortSignal) => Promise<unknown>>>;

/** Runs one round of maintenance. A failed step does not stop the others. */
export async function maintain(app: App, signal?: AbortSignal): Promise<void> {
  const run: Run = (step, applicationId, work) => app.maintenance.run(step, applicationId, work, signal);
  await maintainDeployment(app, run);
  await continueErasures(app, run);
  for (const application of await listApplications(app.database.reads)) {
    if (application.isBeingDeleted) await eraseApplication(application, app, run);
    else await maintainApplication(application.appid, app, run);
  }
  await finishMoves(app, run);
  await run("settleUploads", "", (signal) => settleUploads(app, signal));
  // Last, because an unreachable file store must not block the other work.
  await run("eraseOldOrphans", "", (signal) => eraseOldOrphans(app.clock.now(), app, signal));
  await run("cleanUpFiles", "", (signal) => app.bytes.cleanUp(unfinishedWritesMs, signal));
}

/** Deletes expired rows of all applications. */
async function maintainDeployment({ database, config, clock }: App, run: Run) {
  const steps: Steps = {
    deleteExpiredUserTokens: (signal) => deleteExpiredUserTokens(clock.now(), database, signal),
    deleteExpiredOperatorSessions: (signal) => deleteExpiredOperatorSessions(clock.now(), config, database, signal),
    deleteOldAuditRows: (signal) => deleteOldAuditRows(clock.now() - config.auditDays * dayMs, database, signal),
    countAuditLog: (signal) => countAuditLog(clock.now(), database, signal),
    deleteOldAuditCounts: (signal) => deleteOldAuditCounts(clock.now(), config.auditDays, database, signal),
    deleteExpiredReplies: (signal) => deleteExpiredReplies(clock.now(), database, signal),
    deleteEndedUsage: (signal) => deleteEndedUsage(clock.now(), database, signal),
    deleteExpiredMailLimits: (signal) => deleteExpiredMailLimits(clock.now(), database, signal),
    deleteExpiredCounters: (signal) => deleteExpiredCounters(clock.now(), database, signal),
    compactStatistics: (signal) => compactStatistics("", clock.now(), database, signal),
  };
  for (const [step, work] of Object.entries(steps)) await run(step, "", work);
}

/** Continues erasures that another process has started and not finished. */
async function continueErasures(app: App, run: Run): Promise<void> {
  const { database, clock, fuzzing } = app;
  for (const ended of await listEndedTestCallers(clock.now(), testCallersPerRound, database.reads)) {
    await run("endTestCaller", ended.application_id, (signal) => endTestCaller(ended, app, signal));
  }
  for (const { application_id, id, deleted_at } of await listUnfinishedUsers(usersPerRound, database.reads)) {
    if (deleted_at !== null)
      await run("eraseUser", application_id, (signal) => eraseUser(application_id, id, database, { signal }));
    else
      await run("reshiftUser", application_id, (signal) =>
        reshiftUser(application_id, id, { database, fuzzing }, { signal }),
      );
  }
  for (const { application_id, object_id } of await listUnfinishedErasures(objectsPerRound, database.reads)) {
    await run("finishErasure", application_id, (signal) => finishErasure(application_id, object_id, database, signal));
  }
  await run("dropLeftovers", "", (signal) => dropLeftovers(app, signal));
}

type ListedApplication = Awaited<ReturnType<typeof listApplications>>[number];

async function eraseApplication({ appid, importingUntil }: ListedApplication, app: App, run: Run): Promise<void> {
  const { database, clock } = app;
  // In one step, because the file store may be unreachable.
  await run("eraseApplication", appid, async (signal) => {
    const isImported =
      importingUntil !== null && !(await database.write(({ queries }) => endLapsedImport(appid, clock.now(), queries)));
    if (!isImported) await deleteApplicationRows(appid, app, { signal });
  });
}

/** Runs the steps of an application. Failures are ignored if it was deleted or moved since the round listed it. */
export async function maintainApplication(appid: string, app: App, run: Run): Promise<void> {
  const { database, clock, compactor, policies, settingsSealer } = app;
  let loading: ReturnType<typeof loadGuardedSettings> | undefined;
  const loadSettings = () => {
    loading ??= loadGuardedSettings(appid, database.reads); // loaded once, so that a failure fails each step that needs the settings
    return loading;
  };
  const loadRetention = async () => retentionOf((await loadSettings()).settings);
  const steps: Steps = {
    compactMetrics: (signal) => compactor.compact(appid, signal),
    sealSettings: async () => sealOutdatedSettings(appid, await loadSettings(), { database, sealer: settingsSealer }),
    resealPolicy: () => policies.resealOutdated(appid),
    keepLogSettings: async () => keepLogSettings(appid, (await loadSettings()).settings, app),
    maintainWebhooks: (signal) => maintainWebhooks(appid, app, signal),
    maintainEvents: (signal) => maintainEvents(appid, app, signal),
    deleteOldCrashReports: async (signal) =>
      deleteOldCrashReports(appid, clock.now() - (await loadRetention()).crashReportsDays * dayMs, database, signal),
    compactStatistics: (signal) => compactStatistics(appid, clock.now(), database, signal),
    deleteRareVersions: () => deleteRareVersions(appid, database),
    keepCounts: (signal) => updateTotals(appid, clock.now(), database, signal),
    deleteOldMetrics: async (signal) =>
      deleteOldMetrics(appid, clock.now() - (await loadRetention()).metricsDays * dayMs, database, signal),
  };
  for (const [step, work] of Object.entries(steps)) {
    await run(step, appid, async (signal) => {
      try {
        await work(signal);
      } catch (error) {
        if ((await findLiveApplication(appid, database.reads)) !== undefined) throw error;
      }
    });
  }
}

async function maintainEvents(appid: string, { eventLog, log }: App, signal?: AbortSignal): Promise<void> {
  const dropped = await eventLog.maintain(appid, signal);
  if (dropped === 0) return;
  log.warn(
    { appid, dropped },
    "events were dropped, because more than EVENTS_BACKLOG_MAX had no position: readers start again",
  );
}

async function finishMoves(app: App, run: Run): Promise<void> {
  const { database, config } = app;
  for (const { application_id, state } of await listApplicationRegions(database.reads)) {
    if (state !== "handing over") continue;
    await run("finishMove", application_id, (signal) =>
      finishMove(application_id, { ...app, region: config.region }, signal),
    );
  }
}

type EndedTestCaller = Awaited<ReturnType<typeof listEndedTestCallers>>[number];

/** Erases the device of an expired test caller, and marks its user as deleted, who is then erased like any other. */
async function endTestCaller(ended: EndedTestCaller, app: App, signal?: AbortSignal): Promise<void> {
  const { database, clock } = app;
  const { application_id, device_id, user_id } = ended;
  if (user_id !== null) {
    await database.write(async (transaction) => {
      const exists = (await findUser(application_id, user_id, transaction.queries)) !== undefined;
      if (exists) await updateUserDeleted(application_id, user_id, clock.now(), app, transaction);
    });
  }
  await eraseTestDevice(application_id, device_id, database, signal);
}
