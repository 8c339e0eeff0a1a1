import { deleteApplicationRows, listApplications } from "./applications/applications.store.ts";
import { deleteExpiredRevocations } from "./auth/revocations.ts";
import type { Database } from "./db/database.ts";
import type { Clock } from "./lib/clock.ts";
import type { Log } from "./log.ts";

const intervalMs = 60_000;

/** Work that nobody waits for, in bounded steps, every minute: what has expired is dropped, what was deleted is erased. */
export function startMaintenance(database: Database, clock: Clock, log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let running = Promise.resolve();

  async function run(): Promise<void> {
    try {
      await maintain(database, clock.now(), stopping.signal);
    } catch (err) {
      if (!stopping.signal.aborted) log.warn({ err }, "maintenance did not finish, it goes on in a minute");
    }
  }
  const timer = setInterval(() => {
    running = running.then(run);
  }, intervalMs);
  timer.unref();

  return {
    /** Resolves after the step that is under way. */
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** One round of maintenance. */
export async function maintain(database: Database, now: number, signal?: AbortSignal): Promise<void> {
  await deleteExpiredRevocations(now, database, signal);
  for (const { appid, isBeingDeleted } of await listApplications(database.reads)) {
    if (isBeingDeleted) await deleteApplicationRows(appid, database, { signal });
  }
}
