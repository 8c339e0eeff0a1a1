import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import type { OwnSecrets } from "../lib/secret-ring.ts";
import { saveReport } from "./deployment.processes.store.ts";
import type { OwnReports } from "./own-reports.ts";
import { createSecretRotation } from "./secret-rotation.ts";

const everyMs = 10_000;
/** Shutdown must not wait for a database that does not answer. */
const lastMsMax = 1_000;

/** Reports this process at once, every ten seconds, and when it ends; follows the rotation of the secret. */
export function startHeartbeat(services: {
  readonly ownReports: OwnReports;
  readonly database: Database;
  readonly secrets: OwnSecrets;
  readonly log: Log;
}): { stop(): Promise<void> } {
  const { ownReports, database } = services;
  const rotation = createSecretRotation(services);
  let running: Promise<void> | undefined;

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
      ownReports.noteDatabaseAway(error); // which the next report says
    }
  }

  function beatUnlessRunning(): void {
    running ??= beat().finally(() => {
      running = undefined;
    });
  }

  ownReports.start();
  beatUnlessRunning();
  const timer = setInterval(beatUnlessRunning, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      ownReports.close();
      const last = Promise.resolve(running).then(() => beat(true));
      await Promise.race([last, sleep(lastMsMax, undefined, { ref: false })]);
    },
  };
}
