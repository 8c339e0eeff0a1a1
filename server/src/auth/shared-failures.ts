import type { Clock } from "../lib/clock.ts";
import type { SharedCounters } from "../limits/counters.ts";
import type { Failures } from "./failure-counts.ts";
import { changeFailures, type FailureChange } from "./shared-failures.store.ts";

/** Changes failures in the database, those of one application together. */
export interface SharedFailures {
  /**
   * @param applicationId empty for names of operators
   * @param apply may run several times, each time on the stored failures
   * @param onLate is called with a result that arrived after `undefined` was returned
   * @returns undefined when the database does not answer in time, or the application has been deleted
   */
  change<T>(
    applicationId: string,
    key: string,
    apply: (failures: Failures) => T,
    onLate?: (result: T) => void,
  ): Promise<T | undefined>;
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
    const leave = () => {
      if (queues.get(applicationId) === queue) queues.delete(applicationId);
    };
    while (queue.length > 0) {
      const changes = queue.splice(0, changesPerTransaction);
      const isDone = await shared.run(
        ({ queries }) => changeFailures(applicationId, changes, clock.now(), queries),
        () => {
          leave(); // later changes do not wait for this transaction
          for (const each of [...changes, ...queue.splice(0)]) each.settle(false);
        },
      );
      for (const each of changes) each.settle(isDone === true);
    }
    leave();
  }

  return {
    async change(applicationId, key, apply, onLate) {
      if (shared.isAway && !shared.shouldProbe()) return undefined;
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof apply> | undefined>();
      let result: ReturnType<typeof apply> | undefined;
      let isSettled = false;
      queueOf(applicationId).push({
        key: shared.keyOf(key),
        apply(failures) {
          result = apply(failures);
        },
        settle(isDone) {
          if (isDone && isSettled && result !== undefined) onLate?.(result);
          isSettled = true;
          resolve(isDone ? result : undefined);
        },
      });
      return promise;
    },
  };
}
