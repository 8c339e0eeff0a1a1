import { ApiError } from "../lib/errors.ts";

interface Holder {
  readonly stop: () => void;
  readonly isOver: Promise<void>;
}

const waitingMsMax = 5_000;

/**
 * Lets one request at a time write to each upload, within this process. A later request stops the earlier one, which
 * keeps what has arrived: usually its connection is dead and the client has reconnected.
 */
export interface Turns {
  /**
   * @returns the function that releases the turn
   * @throws ApiError ServiceUnavailable when the earlier request does not stop in time
   */
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
