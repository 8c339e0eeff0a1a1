import type { Log } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";

/** The failures of one step of maintenance. */
export interface StepFailures {
  readonly step: string;
  /** Empty for steps of the whole deployment; `other` beyond a number of applications. */
  readonly application: string;
  count: number;
}

/** Runs the steps of maintenance, so that a row of one application that makes a step fail stops nothing else. */
export interface MaintenanceSteps {
  /**
   * Logs and counts a failure, except that of a database which does not answer for the whole deployment, which ends the round.
   *
   * @param step a name that is known to the code
   * @param applicationId empty for a step of the whole deployment
   * @throws when the signal is aborted
   */
  run(step: string, applicationId: string, work: () => Promise<unknown>, signal?: AbortSignal): Promise<void>;
  failures(): Iterable<StepFailures>;
}

const countsMax = 1_000;
/** Each step of an application logs its failures this often; all failures are counted. */
const logEveryMs = 600_000;

export function createMaintenanceSteps(log: Pick<Log, "warn">): MaintenanceSteps {
  const counts = new Map<string, StepFailures & { loggedAt: number }>();

  function find(step: string, application: string): StepFailures & { loggedAt: number } {
    const key = `${step} ${application}`;
    const found = counts.get(key);
    if (found !== undefined) return found;
    if (counts.size >= countsMax && application !== "other") return find(step, "other");
    const made = { step, application, count: 0, loggedAt: Number.NEGATIVE_INFINITY };
    counts.set(key, made);
    return made;
  }

  return {
    failures: () => counts.values(),

    async run(step, applicationId, work, signal) {
      try {
        await work();
      } catch (err) {
        signal?.throwIfAborted();
        const isAway = err instanceof ApiError && err.condition === "ServiceUnavailable";
        if (isAway && applicationId === "") throw err;
        const failures = find(step, applicationId);
        failures.count += 1;
        const now = performance.now();
        if (now - failures.loggedAt < logEveryMs) return;
        failures.loggedAt = now;
        const appid = applicationId === "" ? undefined : applicationId;
        log.warn({ err, step, appid }, "a step of maintenance failed, and is retried in a minute");
      }
    },
  };
}
