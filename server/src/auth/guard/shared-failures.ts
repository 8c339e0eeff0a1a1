import type { Clock } from "../../lib/clock.ts";
import type { SharedCounters } from "../../limits/counters.ts";
import type { Failures } from "./failure-counts.ts";
import { changeFailures, type FailureChange } from "./shared-failures.store.ts";

/** Changes failures in the database, those of one application together. */
export interface SharedFailures {
  /**
   * @param applicationId empty for names of operators
   * @param apply may run several times, each time on the stored failures
   * @returns undefined when the database does not answer, or the application has been deleted
   */
  change<T>(applicationId: string, key: string, apply: (failures: Failures) => T): Promise<T | undefined>;
}

interface Waiting extends FailureChange {
  settle(isDone: boolean): void;
}

/** Bounds the length of statements, and how long rows stay locked. */
const changesPerTransaction = 100;

export function createSharedFailures({
  clock,
  shared,
}: {
  readonly clock: Clock;
  readonly shared: SharedCounters;
}): SharedFailures {
  const queues = new Map<string, Waiting[]>();

  function queueOf(applicationId: string): Waiting[] {
    let queue = queues.get(applicationId);
    if (queue === undefined) {
      queue = [];
      queues.set(applicationId, queue);
      setImmediate(send, applicationId, queue); // changes of one tick share a transaction
    }
    return queue;
  }

  /** Sends one transaction after the other, so that a change sees those before it. */
  async function send(applicationId: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const changes = queue.splice(0, changesPerTransaction);
      const isDone = await shared.runPatiently(({ queries }) =>
        changeFailures(applicationId, changes, clock.now(), queries),
      );
      for (const each of changes) each.settle(isDone === true);
      // The next transaction would take as long to fail.
      if (isDone === undefined) for (const each of queue.splice(0)) each.settle(false);
    }
    queues.delete(applicationId);
  }

  return {
    change(applicationId, key, apply) {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof apply> | undefined>();
      let result: ReturnType<typeof apply> | undefined;
      queueOf(applicationId).push({
        key: shared.keyOf(key),
        apply(failures) {
          result = apply(failures);
        },
        settle: (isDone) => resolve(isDone ? result : undefined),
      });
      return promise;
    },
  };
}
