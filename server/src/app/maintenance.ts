import { randomUUID } from "node:crypto";
import { keepLogSettings } from "../applications/applications.log-settings.ts";
import {
  deleteApplicationRows,
  endLapsedImport,
  findLiveApplication,
  listApplications,
} from "../applications/applications.store.ts";
import { finishMove } from "../archives/moves.export.ts";
import { dropLeftovers } from "../archives/moves.import.ts";
import { countAuditLog } from "../audit/audit.counting.ts";
import { deleteOldAuditCounts } from "../audit/audit.counts.store.ts";
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
import { startJob } from "../jobs/job.ts";
import { releaseLease, takeLease } from "../jobs/leases.ts";
import { finishErasure, listUnfinishedErasures } from "../jobs/metadata-erasure.ts";
import { deleteExpiredCounters } from "../limits/counters.ts";
import { deleteExpiredMailLimits } from "../mail/mail-limits.ts";
import { deleteOldMetrics } from "../metrics/engine/retention.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import { listApplicationRegions } from "../regions/regions.directory.store.ts";
import { compactStatistics } from "../statistics/statistics.compaction.ts";
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
 * Deletes expired rows and erases deleted objects every minute, in bounded steps. A lease selects one process per
 * database; after a crash of that process, another one continues a minute later.
 *
 * @param everyMs the interval at which this process tries to acquire the lease
 */
export function startMaintenance(app: App, everyMs = intervalMs): { stop(): Promise<void> } {
  const { database, clock, log, tokenUses } = app;
  const lease = { name: "maintenance", holder: randomUUID() };
  const clockGuard = createClockGuard(app);

  function acquireLease(now: number, endsAt: number): Promise<boolean> {
    return database.write(({ queries }) => takeLease(lease, now, endsAt, queries));
  }

  async function runRound(startedAt: number, stopping: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      // A failed renewal is ignored, because the lease stays valid until the next one.
      acquireLease(clock.now(), clock.now() + leaseMs).then(
        (isOurs) => isOurs || lost.abort(),
        () => {},
      );
    }, leaseMs / 3);
    let nextAt = startedAt + intervalMs - toleranceMs;
    try {
      if (!(await clockGuard.mayDelete(startedAt))) return;
      const signal = AbortSignal.any([stopping, lost.signal]);
      await maintain(app, signal);
      app.maintenance.finishedAt = Date.now();
      await clockGuard.finished(clock.now());
    } catch (err) {
      if (stopping.aborted)
        nextAt = clock.now(); // another process continues immediately
      else log.warn({ err }, "maintenance failed, and continues in a minute");
    } finally {
      clearInterval(renewal);
      await database.write(({ queries }) => releaseLease(lease, nextAt, queries));
    }
    log.debug({ ms: clock.now() - startedAt }, "maintenance");
  }

  async function run(stopping: AbortSignal): Promise<void> {
    const now = clock.now();
    if (await acquireLease(now, now + leaseMs)) await runRound(now, stopping);
    else await tokenUses.save(); // because each process buffers its own token uses
  }
  const failure = "maintenance could not start, and is retried in a minute";
  const job = startJob({ name: "maintenance", everyMs, failure, run }, log);
  return { stop: () => job.stop(stepMsMax) };
}

/** Runs a step of an application, or of the deployment if the id is empty. */
type Run = (step: string, applicationId: string, work: () => Promise<unknown>) => Promise<void>;

/** Runs one round of maintenance. A failed step does not stop the others. */
export async function maintain(app: App, signal?: AbortSignal): Promise<void> {
  const run: Run = (step, applicationId, work) => app.maintenance.steps.run(step, applicationId, work, signal);
  await maintainDeployment(app, run, signal);
  await continueErasures(app, run, signal);
  for (const application of await listApplications(app.database.reads)) {
    if (application.isBeingDeleted) await eraseApplication(application, app, run, signal);
    else await maintainApplication(application.appid, app, run, signal);
  }
  await finishMoves(app, run, signal);
  await run("settleUploads", "", () => settleUploads(app, signal));
  // Last, because an unreachable file store must not block the other work.
  await run("eraseOldOrphans", "", () => eraseOldOrphans(app.clock.now(), app, signal));
  await run("cleanUpFiles", "", () => app.bytes.cleanUp(unfinishedWritesMs, signal));
}

/** Deletes expired rows of all applications. */
async function maintainDeployment({ database, config, clock, tokenUses }: App, run: Run, signal?: AbortSignal) {
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    saveTokenUses: () => tokenUses.save(),
    deleteExpiredUserTokens: () => deleteExpiredUserTokens(clock.now(), database, signal),
    deleteExpiredOperatorSessions: () => deleteExpiredOperatorSessions(clock.now(), config, database, signal),
    deleteOldAuditRows: () => deleteOldAuditRows(clock.now() - config.auditDays * dayMs, database, signal),
    countAuditLog: () => countAuditLog(clock.now(), database, signal),
    deleteOldAuditCounts: () => deleteOldAuditCounts(clock.now(), config.auditDays, database, signal),
    deleteExpiredReplies: () => deleteExpiredReplies(clock.now(), database, signal),
    deleteEndedUsage: () => deleteEndedUsage(clock.now(), database, signal),
    deleteExpiredMailLimits: () => deleteExpiredMailLimits(clock.now(), database, signal),
    deleteExpiredCounters: () => deleteExpiredCounters(clock.now(), database, signal),
    compactStatistics: () => compactStatistics("", clock.now(), database, signal),
  };
  for (const [step, work] of Object.entries(steps)) await run(step, "", work);
}

/** Continues erasures that another process has started and not finished. */
async function continueErasures(app: App, run: Run, signal?: AbortSignal): Promise<void> {
  const { database, clock, fuzzing } = app;
  for (const ended of await listEndedTestCallers(clock.now(), testCallersPerRound, database.reads)) {
    await run("endTestCaller", ended.application_id, () => endTestCaller(ended, app, signal));
  }
  for (const { application_id, id, deleted_at } of await listUnfinishedUsers(usersPerRound, database.reads)) {
    if (deleted_at !== null)
      await run("eraseUser", application_id, () => eraseUser(application_id, id, database, { signal }));
    else
      await run("reshiftUser", application_id, () =>
        reshiftUser(application_id, id, { database, fuzzing }, { signal }),
      );
  }
  for (const { application_id, object_id } of await listUnfinishedErasures(objectsPerRound, database.reads)) {
    await run("finishErasure", application_id, () => finishErasure(application_id, object_id, database, signal));
  }
  await run("dropLeftovers", "", () => dropLeftovers(app, signal));
}

type ListedApplication = Awaited<ReturnType<typeof listApplications>>[number];

async function eraseApplication(
  { appid, importingUntil }: ListedApplication,
  app: App,
  run: Run,
  signal?: AbortSignal,
): Promise<void> {
  const { database, clock } = app;
  // In one step, because the file store may be unreachable.
  await run("eraseApplication", appid, async () => {
    const isImported =
      importingUntil !== null && !(await database.write(({ queries }) => endLapsedImport(appid, clock.now(), queries)));
    if (!isImported) await deleteApplicationRows(appid, app, { signal });
  });
}

/** Runs the steps of an application. Failures are ignored if it was deleted or moved since the round listed it. */
export async function maintainApplication(appid: string, app: App, run: Run, signal?: AbortSignal): Promise<void> {
  const { database, clock, compactor, policies, settingsSealer } = app;
  let loading: ReturnType<typeof loadGuardedSettings> | undefined;
  const loadSettings = () => {
    loading ??= loadGuardedSettings(appid, database.reads); // loaded once, so that a failure fails each step that needs the settings
    return loading;
  };
  const loadRetention = async () => retentionOf((await loadSettings()).settings);
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    compactMetrics: () => compactor.compact(appid, signal),
    sealSettings: async () => sealOutdatedSettings(appid, await loadSettings(), { database, sealer: settingsSealer }),
    resealPolicy: () => policies.resealOutdated(appid),
    keepLogSettings: async () => keepLogSettings(appid, (await loadSettings()).settings, app),
    maintainWebhooks: () => maintainWebhooks(appid, app, signal),
    maintainEvents: () => maintainEvents(appid, app, signal),
    deleteOldCrashReports: async () =>
      deleteOldCrashReports(appid, clock.now() - (await loadRetention()).crashReportsDays * dayMs, database, signal),
    compactStatistics: () => compactStatistics(appid, clock.now(), database, signal),
    deleteRareVersions: () => deleteRareVersions(appid, database),
    keepCounts: () => updateTotals(appid, clock.now(), database, signal),
    deleteOldMetrics: async () =>
      deleteOldMetrics(appid, clock.now() - (await loadRetention()).metricsDays * dayMs, database, signal),
  };
  for (const [step, work] of Object.entries(steps)) {
    await run(step, appid, async () => {
      try {
        await work();
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

async function finishMoves(app: App, run: Run, signal?: AbortSignal): Promise<void> {
  const { database, config } = app;
  for (const { application_id, state } of await listApplicationRegions(database.reads)) {
    if (state !== "handing over") continue;
    await run("finishMove", application_id, () =>
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
