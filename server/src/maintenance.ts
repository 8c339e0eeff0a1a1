import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "./app.ts";
import { keepLogSettings } from "./applications/applications.log-settings.ts";
import { deleteApplicationRows, endLapsedImport, listApplications } from "./applications/applications.store.ts";
import { countAuditLog } from "./audit/audit.counting.ts";
import { deleteOldAuditCounts } from "./audit/audit.counts.store.ts";
import { deleteOldAuditRows } from "./audit/audit.store.ts";
import { deleteExpiredOperatorSessions } from "./auth/operator-sessions.ts";
import { listEndedTestCallers } from "./auth/test-callers.ts";
import { deleteExpiredUserTokens } from "./auth/user-tokens.ts";
import { endLease, takeLease } from "./db/leases.ts";
import { deleteOldCrashReports } from "./devices/devices.crash-reports.store.ts";
import { eraseTestDevice } from "./devices/devices.erasure.ts";
import { finishErasures } from "./erasure/metadata-erasure.ts";
import { settleUploads } from "./files/files.resumable.expiry.ts";
import { deleteExpiredReplies } from "./idempotency/idempotency.store.ts";
import { deleteEndedUsage } from "./idempotency/idempotency.usage.ts";
import { runInCall } from "./lib/current-call.ts";
import { deleteExpiredCounters } from "./limits/expired-counters.ts";
import { deleteExpiredMailLimits } from "./mail/mail-limits.ts";
import { deleteOldMetrics } from "./metrics/engine/retention.ts";
import { finishMove } from "./moves/moves.export.ts";
import { dropLeftovers } from "./moves/moves.import.ts";
import { reshiftUser } from "./privacy/reshifting.ts";
import { listApplicationRegions } from "./regions/regions.directory.store.ts";
import { compactStatistics } from "./statistics/statistics.compaction.ts";
import { keepCounts } from "./statistics/statistics.totals.ts";
import { deleteRareVersions } from "./statistics/statistics.versions.ts";
import { eraseOldOrphans } from "./storage/orphaned-objects.ts";
import { loadGuardedSettings, retentionOf } from "./tenancy/application-settings.ts";
import { sealOutdatedSettings } from "./tenancy/settings-changes.ts";
import { eraseUser, updateUserDeleted } from "./users/users.erasure.ts";
import { findUser, listUnfinishedUsers } from "./users/users.store.ts";
import { maintainWebhooks } from "./webhooks/webhooks.maintenance.ts";

const intervalMs = 60_000;
/** Rounds may start this much early, so that timer jitter does not make a lone process skip its next round. */
const toleranceMs = 5_000;
const leaseMs = 60_000;
const usersPerRound = 1_000;
const testCallersPerRound = 1_000;
/** A file store that does not answer holds a step for up to a minute; shutdown must not wait for it. */
const stepMsMax = 1_000;
const dayMs = 86_400_000;
const unfinishedWritesMs = 86_400_000; // longer than an upload over a slow connection
const objectsPerRound = 1_000;

/**
 * Deletes expired rows and erases what was deleted, every minute, in bounded steps. A lease selects one process per
 * database; if that process dies, another one continues a minute later.
 *
 * @param everyMs the interval at which this process tries to get the lease
 */
export function startMaintenance(app: App, everyMs = intervalMs): { stop(): Promise<void> } {
  const { database, clock, log, tokenUses } = app;
  const stopping = new AbortController();
  const lease = { name: "maintenance", holder: randomUUID() };
  let running = Promise.resolve();

  function acquireLease(now: number, endsAt: number): Promise<boolean> {
    return database.write(({ queries }) => takeLease(lease, now, endsAt, queries));
  }

  async function runRound(startedAt: number): Promise<void> {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      // A failed renewal does not lose the lease, which is still valid for a while.
      acquireLease(clock.now(), clock.now() + leaseMs).then(
        (isOurs) => isOurs || lost.abort(),
        () => {},
      );
    }, leaseMs / 3);
    let nextAt = startedAt + intervalMs - toleranceMs;
    try {
      const signal = AbortSignal.any([stopping.signal, lost.signal]);
      await runInCall({ work: "maintenance" }, () => maintain(app, signal));
      app.maintenance.finishedAt = Date.now();
    } catch (err) {
      if (stopping.signal.aborted)
        nextAt = clock.now(); // another process continues at once
      else log.warn({ err }, "maintenance failed, and continues in a minute");
    } finally {
      clearInterval(renewal);
      await database.write(({ queries }) => endLease(lease, nextAt, queries));
    }
    log.debug({ ms: clock.now() - startedAt }, "maintenance");
  }

  async function run(): Promise<void> {
    if (stopping.signal.aborted) return;
    try {
      const now = clock.now();
      if (await acquireLease(now, now + leaseMs)) await runRound(now);
      else await tokenUses.save(); // each process buffers its own token uses
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, "maintenance could not start, and is retried in a minute");
    }
  }
  const timer = setInterval(() => {
    running = running.then(run);
  }, everyMs);
  timer.unref();

  return {
    /** Resolves after the current step, or after `stepMsMax` if the step takes longer. */
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await Promise.race([running, sleep(stepMsMax, undefined, { ref: false })]);
    },
  };
}

/** Continues with other work when the log of an application is locked. */
async function maintainEvents(appid: string, { eventLog, log }: App, signal?: AbortSignal): Promise<void> {
  const dropped = await eventLog.maintain(appid, signal).catch((err) => {
    signal?.throwIfAborted();
    log.warn({ err, appid }, "the log of events could not be maintained, which is retried in a minute");
    return 0;
  });
  if (dropped === 0) return;
  log.warn(
    { appid, dropped },
    "events were dropped, because more than EVENTS_BACKLOG_MAX had no position: readers start again",
  );
}

/** Runs one round of maintenance. */
export async function maintain(app: App, signal?: AbortSignal): Promise<void> {
  const { database, config, clock, fuzzing, tokenUses, compactor, bytes, policies, settingsSealer, log } = app;
  await tokenUses.save();
  await deleteExpiredUserTokens(clock.now(), database, signal);
  await deleteExpiredOperatorSessions(clock.now(), config, database, signal);
  await deleteOldAuditRows(clock.now() - config.auditDays * dayMs, database, signal);
  await countAuditLog(clock.now(), database, signal);
  await deleteOldAuditCounts(clock.now(), config.auditDays, database, signal);
  await deleteExpiredReplies(clock.now(), database, signal);
  await deleteEndedUsage(clock.now(), database, signal);
  await deleteExpiredMailLimits(clock.now(), database, signal);
  await deleteExpiredCounters(clock.now(), database, signal);
  await compactStatistics("", clock.now(), database, signal);
  for (const ended of await listEndedTestCallers(clock.now(), testCallersPerRound, database.reads)) {
    await endTestCaller(ended, app, signal);
  }
  for (const { application_id, id, deleted_at } of await listUnfinishedUsers(usersPerRound, database.reads)) {
    if (deleted_at !== null) await eraseUser(application_id, id, database, { signal });
    else await reshiftUser(application_id, id, { database, fuzzing }, { signal });
  }
  await finishErasures(objectsPerRound, database, signal);
  await dropLeftovers(app, signal);
  for (const { appid, isBeingDeleted, importingUntil } of await listApplications(database.reads)) {
    if (isBeingDeleted) {
      const isImported =
        importingUntil !== null &&
        !(await database.write(({ queries }) => endLapsedImport(appid, clock.now(), queries)));
      if (isImported) continue;
      await deleteApplicationRows(appid, app, { signal }).catch((err) => {
        signal?.throwIfAborted();
        log.warn({ err, appid }, "an application could not be erased, which is retried in a minute"); // its file store may be unreachable
      });
      continue;
    }
    await compactor.compact(appid, signal).catch((err) => {
      signal?.throwIfAborted();
      log.warn({ err, appid }, "metrics could not be compacted, which is retried in a minute"); // continue with the other applications
    });
    const stored = await loadGuardedSettings(appid, database.reads);
    await sealOutdatedSettings(appid, stored, { database, sealer: settingsSealer });
    await policies.resealOutdated(appid);
    const { crashReportsDays, metricsDays } = retentionOf(stored.settings);
    await keepLogSettings(appid, stored.settings, app);
    await maintainWebhooks(appid, app, signal);
    await maintainEvents(appid, app, signal);
    await deleteOldCrashReports(appid, clock.now() - crashReportsDays * dayMs, database, signal);
    await compactStatistics(appid, clock.now(), database, signal);
    await deleteRareVersions(appid, database);
    await keepCounts(appid, clock.now(), database, signal);
    await deleteOldMetrics(appid, clock.now() - metricsDays * dayMs, database, signal);
  }
  for (const { application_id, state } of await listApplicationRegions(database.reads)) {
    if (state !== "handing over") continue;
    await finishMove(application_id, { ...app, region: config.region }, signal).catch((err) => {
      signal?.throwIfAborted();
      log.warn(
        { err, appid: application_id },
        "an application move could not be finished, which is retried in a minute",
      );
    });
  }
  await settleUploads(app, signal);
  // Last, because an unreachable file store must not block the other work.
  await eraseOldOrphans(clock.now(), app, signal);
  await bytes.cleanUp(unfinishedWritesMs, signal);
}

type EndedTestCaller = Awaited<ReturnType<typeof listEndedTestCallers>>[number];

/** Erases the device of a test caller, and deletes its user, who is erased like any other. */
async function endTestCaller(ended: EndedTestCaller, app: App, signal?: AbortSignal): Promise<void> {
  const { database, clock } = app;
  const { application_id, device_id, user_id } = ended;
  if (user_id !== null) {
    await database.write(async (transaction) => {
      const isLeft = (await findUser(application_id, user_id, transaction.queries)) !== undefined;
      if (isLeft) await updateUserDeleted(application_id, user_id, clock.now(), app, transaction);
    });
  }
  await eraseTestDevice(application_id, device_id, database, signal);
}
