import type { Log } from "../config/log.ts";
import { ApiError } from "../lib/errors.ts";

/** The failures of one step. */
interface StepFailures {
  readonly step: string;
  /** Empty for steps of the deployment; `other` beyond a number of applications. */
  readonly application: string;
  count: number;
}

/** Isolates the steps of a job, so that a failure or much work in one application does not stop the others. */
export interface Steps {
  /**
   * Runs a step, and logs and counts its failure. An unavailable database in a step of the deployment stops the round.
   *
   * @param step a constant name
   * @param applicationId empty for a step of the deployment
   * @param work must stop when its signal is aborted, also because its time is over; the next round continues
   * @throws if the signal is aborted or the database is unavailable
   */
  run(
    step: string,
    applicationId: string,
    work: (signal: AbortSignal) => Promise<unknown>,
    signal?: AbortSignal,
  ): Promise<void>;
  failures(): Iterable<StepFailures>;
}

const countsMax = 1_000;
/** The minimum time between two logged failures of a step of an application. All failures are counted. */
const logEveryMs = 600_000;
/** The time of a step in one round. */
const stepMsMax = 60_000;

/** @param name the job, for the log */
export function createSteps(name: string, log: Pick<Log, "info" | "warn">, msMax = stepMsMax): Steps {
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

  function noteFailure(err: unknown, step: string, applicationId: string): void {
    const failures = find(step, applicationId);
    failures.count += 1;
    const now = performance.now();
    if (now - failures.loggedAt < logEveryMs) return;
    failures.loggedAt = now;
    log.warn({ err, step, appid: applicationId || undefined }, `a step of ${name} failed, and is retried in a minute`);
  }

  return {
    failures: () => counts.values(),

    async run(step, applicationId, work, signal) {
      const budget = new AbortController();
      const stop = () => budget.abort(signal?.reason);
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop);
      const timer = setTimeout(() => budget.abort(), msMax).unref();
      try {
        await work(budget.signal);
      } catch (err) {
        signal?.throwIfAborted();
        const isUnavailable = err instanceof ApiError && err.condition === "ServiceUnavailable";
        if (isUnavailable && applicationId === "") throw err;
        const isStopped = err === budget.signal.reason || (err instanceof Error && err.name === "AbortError");
        if (budget.signal.aborted && isStopped)
          log.info({ step, appid: applicationId || undefined }, `a step of ${name} is continued in the next round`);
        else noteFailure(err, step, applicationId);
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      }
    },
  };
}
