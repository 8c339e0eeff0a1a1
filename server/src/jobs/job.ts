import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import { runInCall } from "../lib/current-call.ts";
import { createLease, type LeaseServices, type LeaseTerms } from "./leases.ts";

/** Work that is repeated at an interval, by every process or by one at a time. */
export interface Job {
  /** Names the work in the log, for operators, and in its lease. */
  readonly name: string;
  readonly everyMs: number;
  /** Runs immediately, too, and not only after the first interval. */
  readonly isImmediate?: boolean;
  /** The log message of the first failure in a row; a failed run is repeated after the interval. */
  readonly failure: string;
  /** Set for work that only one process of the deployment may do at a time. */
  readonly lease?: LeaseTerms;
  /** Checked before each run, and before the lease is taken, which costs a write. */
  isDue?(): boolean | Promise<boolean>;
  /** Must stop after its current step when the signal is aborted: at a shutdown, or when the lease is lost. */
  run(signal: AbortSignal): Promise<unknown>;
}

export interface RunningJob {
  /** Starts no further run, and resolves when the current one has stopped, or after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

/** The last runs of a job in this process. */
export interface JobStatus {
  readonly name: string;
  /** When it last completed a run, and how long that took. */
  readonly finishedAt?: number;
  readonly ms?: number;
  readonly failedAt?: number;
  /** The number of failed runs. */
  readonly failures: number;
}

/** The jobs of a process. */
export interface Jobs {
  /** Runs a job at its interval, one run at a time. */
  start(job: Job): RunningJob;
  statuses(): JobStatus[];
}

interface JobServices extends LeaseServices {
  readonly log: Log;
}

export function createJobs(services: JobServices): Jobs {
  const statuses = new Map<string, JobStatus>();
  return {
    start: (job) => startJob(job, services, statuses),
    statuses: () => [...statuses.values()],
  };
}

function startJob(job: Job, services: JobServices, statuses: Map<string, JobStatus>): RunningJob {
  const { name, everyMs, isImmediate = false, failure, isDue = () => true } = job;
  const { clock, log } = services;
  const lease = job.lease && createLease(name, job.lease, services);
  let round = new AbortController();
  let running: Promise<void> | undefined;
  let isFailing = false;
  let isStopping = false;
  note({ failures: 0 });

  function note(change: Partial<JobStatus>): void {
    statuses.set(name, { name, failures: 0, ...statuses.get(name), ...change });
  }

  /** @returns false if there was nothing to do, or another process does it */
  async function runIfDue(): Promise<boolean> {
    if (!(await isDue())) return false;
    const { signal } = round;
    if (lease !== undefined) return lease.hold(round, () => job.run(signal));
    await job.run(signal);
    return true;
  }

  async function runOnce(): Promise<void> {
    round = new AbortController();
    const startedAt = performance.now();
    try {
      const hasRun = await runInCall({ work: name }, runIfDue);
      if (hasRun) note({ finishedAt: clock.now(), ms: Math.round(performance.now() - startedAt) });
      isFailing = false;
    } catch (err) {
      if (isStopping) return;
      note({ failedAt: clock.now(), failures: (statuses.get(name)?.failures ?? 0) + 1 });
      if (!isFailing) log.warn({ err, work: name }, failure);
      isFailing = true;
    } finally {
      running = undefined;
    }
  }

  function begin(): void {
    running ??= runOnce();
  }
  if (isImmediate) begin();
  const timer = setInterval(begin, everyMs).unref();

  return {
    async stop(graceMs) {
      clearInterval(timer);
      isStopping = true;
      round.abort();
      const stopped = Promise.resolve(running).then(() => lease?.release());
      if (graceMs === undefined) await stopped;
      else await Promise.race([stopped, sleep(graceMs, undefined, { ref: false })]);
    },
  };
}
