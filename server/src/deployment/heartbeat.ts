import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { findFact, putFact } from "../db/deployment-facts.ts";
import { lockName } from "../db/lock.ts";
import type { Jobs } from "../jobs/job.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import { listReports, saveReport } from "./deployment.processes.store.ts";
import { deploymentLock } from "./joining.ts";
import type { OwnReports } from "./own-reports.ts";
import type { ReportingProcess } from "./process-report.ts";

/** A process without a report for this long is not live. */
const liveMs = 60_000;

/** Decides when this process starts to seal with a new secret (spec/deployment#rotation-of-the-secret). */
interface SecretRotation {
  /**
   * Switches sealing to the secret of the deployment. Makes the newest secret the secret of the deployment when it is the
   * newest secret of every live process. Must be called after each report.
   *
   * @param own the stored report of this process
   */
  advance(own: ReportingProcess): Promise<void>;
}

export function createSecretRotation({
  database,
  secrets,
  log,
}: {
  readonly database: Database;
  readonly secrets: OwnSecrets;
  readonly log: Log;
}): SecretRotation {
  const [newest] = secrets.fingerprints;
  let isForeign = false;
  let lastLogged = "";

  async function follow(): Promise<void> {
    const recorded = await findFact("secret", database.reads);
    const isKnown = recorded === undefined || secrets.sealWith(recorded);
    if (!isKnown && !isForeign)
      log.error("other processes seal with a secret that this one does not have: correct ROLLCALL_SECRET, and restart");
    isForeign = !isKnown;
  }

  /** Makes the newest secret the secret of the deployment. @returns the machines that prevent it */
  function recordNewest(now: number): Promise<string[]> {
    return database.write(async ({ queries }) => {
      await lockName(database.dialect, deploymentLock, queries);
      const preventing = (await listReports(now, queries))
        .filter(({ heardAt, report }) => heardAt > now - liveMs && report.hasEnded === undefined)
        .filter(({ report }) => report.secrets?.[0] !== newest);
      if (preventing.length === 0) await putFact("secret", newest, queries);
      return [...new Set(preventing.map(({ machine }) => machine))].sort();
    });
  }

  return {
    async advance({ heardAt }) {
      await follow();
      if (isForeign || secrets.sealing === 0) return;
      const machines = (await recordNewest(heardAt)).join(", ");
      if (machines === "") {
        secrets.sealWith(newest);
        log.info("the new secret seals from now on, because every process can open it");
      } else if (machines !== lastLogged) {
        log.info({ machines }, "the new secret does not seal yet: processes there do not have it as their first one");
      }
      lastLogged = machines;
    },
  };
}

const everyMs = 10_000;
/** The time limit of the last report, because shutdown must not wait for an unavailable database. */
const lastMsMax = 1_000;

/** Reports this process immediately, every ten seconds and at shutdown, and follows the rotation of the secret. */
export function startHeartbeat(services: {
  readonly ownReports: OwnReports;
  readonly database: Database;
  readonly secrets: OwnSecrets;
  readonly jobs: Jobs;
  readonly log: Log;
}): { stop(): Promise<void> } {
  const { ownReports, database } = services;
  const rotation = createSecretRotation(services);

  async function beat(hasEnded = false): Promise<void> {
    try {
      await ownReports.measureClock();
      const own = await ownReports.take();
      const process = hasEnded ? { ...own, report: { ...own.report, hasEnded: true as const } } : own;
      await database.write(({ queries }) => saveReport(process, queries));
      ownReports.noteDatabaseBack();
      if (hasEnded) return;
      await ownReports.readBackup();
      await rotation.advance(own);
    } catch (error) {
      ownReports.noteDatabaseAway(error); // the next report contains it
    }
  }

  ownReports.start();
  const failure = "a report of this process was not saved";
  const job = services.jobs.start({ name: "reports", everyMs, isImmediate: true, failure, run: () => beat() });
  return {
    async stop() {
      ownReports.close();
      const last = job.stop().then(() => beat(true));
      await Promise.race([last, sleep(lastMsMax, undefined, { ref: false })]);
    },
  };
}
