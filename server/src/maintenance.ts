import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "./app.ts";
import { deleteApplicationRows, endLapsedImport, listApplications } from "./applications/applications.store.ts";
import { deleteOldAuditRows } from "./audit/audit.store.ts";
import { deleteExpiredOperatorSessions } from "./auth/operator-sessions.ts";
import { deleteExpiredUserTokens } from "./auth/user-tokens.ts";
import { endLease, takeLease } from "./db/leases.ts";
import { finishErasures } from "./db/metadata-erasure.ts";
import { deleteOldCrashReports } from "./devices/devices.crash-reports.store.ts";
import { settleUploads } from "./files/files.resumable.expiry.ts";
import { deleteExpiredReplies } from "./idempotency/idempotency.store.ts";
import { runInCall } from "./lib/current-call.ts";
import { deleteOldMetrics } from "./metrics/metrics.retention.ts";
import { dropLeftovers } from "./moves/moves.arrival.ts";
import { finishMove } from "./moves/moves.departure.ts";
import { reshiftUser } from "./privacy/reshifting.ts";
import { listApplicationRegions } from "./regions/regions.directory.store.ts";
import { eraseOldLooseBytes } from "./storage/loose-bytes.ts";
import { loadApplicationSettings, retentionOf } from "./tenancy/application-settings.ts";
import { eraseUser } from "./users/users.erasure.ts";
import { listUnfinishedUsers } from "./users/users.store.ts";

const intervalMs = 60_000;
/** Rounds begin this much less than a minute apart, so that a process alone never comes too early for its own next one. */
const toleranceMs = 5_000;
const leaseMs = 60_000;
const usersPerRound = 1_000;
/** A store of files that does not answer is waited for a minute: not by those whose requests are in flight. */
const stepMsMax = 1_000;
const dayMs = 86_400_000;
const unfinishedWritesMs = 86_400_000; // longer than an upload takes on a slow line
const objectsPerRound = 1_000;

/**
 * Work that nobody waits for, in bounded steps, every minute: what has expired is dropped, what was deleted is erased. Of
 * all the processes of a database one does it; when that one is gone in the midst of it, another goes on a minute later.
 *
 * @param everyMs how often this process looks whether it is to be done
 */
export function startMaintenance(app: App, everyMs = intervalMs): { stop(): Promise<void> } {
  const { database, clock, log, tokenUses } = app;
  const stopping = new AbortController();
  const lease = { name: "maintenance", holder: randomUUID() };
  let running = Promise.resolve();

  function take(now: number, endsAt: number): Promise<boolean> {
    return database.write(({ queries }) => takeLease(lease, now, endsAt, queries));
  }

  async function runRound(startedAt: number): Promise<void> {
    const lost = new AbortController();
    const renewal = setInterval(() => {
      // A failure to ask is no answer: the lease is there for a while.
      take(clock.now(), clock.now() + leaseMs).then(
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
        nextAt = clock.now(); // another process goes on
      else log.warn({ err }, "maintenance did not finish, it goes on in a minute");
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
      if (await take(now, now + leaseMs)) await runRound(now);
      else await tokenUses.save(); // which only this process knows of
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, "maintenance did not begin, it is tried again in a minute");
    }
  }
  const timer = setInterval(() => {
    running = running.then(run);
  }, everyMs);
  timer.unref();

  return {
    /** Resolves after the step that is under way, unless that takes long. */
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await Promise.race([running, sleep(stepMsMax, undefined, { ref: false })]);
    },
  };
}

/** One round of maintenance. */
export async function maintain(app: App, signal?: AbortSignal): Promise<void> {
  const { database, config, clock, fuzzing, tokenUses, compactor, bytes, log } = app;
  await tokenUses.save();
  await deleteExpiredUserTokens(clock.now(), database, signal);
  await deleteExpiredOperatorSessions(clock.now(), config, database, signal);
  await deleteOldAuditRows(clock.now() - config.auditDays * dayMs, database, signal);
  await deleteExpiredReplies(clock.now(), database, signal);
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
        log.warn({ err, appid }, "an application was not erased"); // its bytes are in a store that may be out of reach
      });
      continue;
    }
    await compactor.compact(appid, signal).catch((err) => {
      signal?.throwIfAborted();
      log.warn({ err, appid }, "metrics were not compacted"); // the other applications have their turn all the same
    });
    const { crashReportsDays, metricsDays } = retentionOf(await loadApplicationSettings(appid, database.reads));
    await deleteOldCrashReports(appid, clock.now() - crashReportsDays * dayMs, database, signal);
    await deleteOldMetrics(appid, clock.now() - metricsDays * dayMs, database, signal);
  }
  for (const { application_id, state } of await listApplicationRegions(database.reads)) {
    if (state !== "handing over") continue;
    await finishMove(application_id, { ...app, region: config.region }, signal).catch((err) => {
      signal?.throwIfAborted();
      log.warn({ err, appid: application_id }, "an application is not where it moves to yet");
    });
  }
  await settleUploads(app, signal);
  // Last: a store that is out of reach must not keep the rest from being done.
  await eraseOldLooseBytes(clock.now(), app, signal);
  await bytes.cleanUp(unfinishedWritesMs, signal);
}
