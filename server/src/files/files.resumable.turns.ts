import { ApiError } from "../errors.ts";

interface Holder {
  readonly stop: () => void;
  readonly isOver: Promise<void>;
}

const waitingMsMax = 5_000;

/**
 * One request at a time for each upload, within this process. Who comes later asks the one before to stop with what has
 * arrived: most often that one's connection is dead, and its client is back over another one.
 */
export interface Turns {
  /** @returns what ends the turn @throws ApiError ServiceUnavailable when the one before does not stop for long */
  take(key: string, stop: () => void): Promise<() => void>;
}

export function createTurns(): Turns {
  const holders = new Map<string, Holder>();
  return {
    async take(key, stop) {
      const deadline = performance.now() + waitingMsMax;
      for (let holder = holders.get(key); holder !== undefined; holder = holders.get(key)) {
        holder.stop();
        if (!(await isOverBy(deadline, holder))) {
          throw new ApiError("ServiceUnavailable", "The upload is busy with an earlier request.");
        }
      }
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      holders.set(key, { stop, isOver });
      return () => {
        holders.delete(key);
        resolve();
      };
    },
  };
}

async function isOverBy(deadline: number, { isOver }: Holder): Promise<boolean> {
  const { promise: isLate, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, deadline - performance.now());
  const isInTime = await Promise.race([isOver.then(() => true), isLate.then(() => false)]);
  clearTimeout(timer);
  return isInTime;
}
