import type { Owner } from "./owner.ts";

interface Waiting {
  isGone(): boolean;
  resume(): void;
}

/**
 * Spreads the steps of long work over the ticks of the event loop: one step per tick for the whole process. However
 * many long calls run at once, a short call waits for only one step of one of them.
 */
export interface FairTicks {
  /** Resolves when the next step may run, or out of turn once `isGone` returns true. */
  wait(owner: Owner, isGone: () => boolean): Promise<void>;
}

export function createFairTicks(): FairTicks {
  /** The first application has the next turn, and within it the first caller. */
  const applications = new Map<string, Map<string, Waiting[]>>();
  let isScheduled = false;

  /** Removes the next entry, and moves its application and caller to the end. */
  function take(): Waiting | undefined {
    const [application] = applications;
    if (application === undefined) return undefined;
    const [applicationId, callers] = application;
    applications.delete(applicationId);
    const [caller] = callers;
    if (caller === undefined) return undefined;
    const [callerId, entries] = caller;
    callers.delete(callerId);
    const entry = entries.shift();
    if (entries.length > 0) callers.set(callerId, entries);
    if (callers.size > 0) applications.set(applicationId, callers);
    return entry;
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (let entry = take(); entry !== undefined; entry = take()) {
        const isStep = !entry.isGone(); // an abandoned call ends without a step, so it uses no turn
        entry.resume();
        if (isStep) break;
      }
      if (applications.size > 0) schedule();
    });
  }

  return {
    wait({ application, caller }, isGone) {
      return new Promise((resume) => {
        const callers = applications.get(application) ?? new Map<string, Waiting[]>();
        applications.set(application, callers);
        const entries = callers.get(caller) ?? [];
        callers.set(caller, entries);
        entries.push({ isGone, resume });
        schedule();
      });
    },
  };
}
