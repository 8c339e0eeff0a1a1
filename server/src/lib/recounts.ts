import { AsyncResource } from "node:async_hooks";
import type { Clock } from "./clock.ts";
import { LruMap } from "./lru-map.ts";

/** Counts of applications that are computed again from time to time, in the background. */
export interface Recounts<Figure> {
  /** The count of an application as it was last computed; starts another computation if it is due. */
  find(applicationId: string): Figure;
}

interface Counted<Figure> {
  readonly figure: Figure;
  nextAt: number;
  isCounting: boolean;
}

const everyMs = 10_000;
const applicationsMax = 10_000;

/**
 * Keeps one figure per application in memory, for limits that a shared counter row would serialize on PostgreSQL.
 *
 * @param create the figure before the first count
 * @param recount updates a figure; when it fails, the figure stays until the next count
 * @param pauseFactor how many times longer than a count the pause after it is, at least
 */
export function createRecounts<Figure>({
  clock,
  create,
  recount,
  pauseFactor = 0,
}: {
  readonly clock: Clock;
  create(): Figure;
  recount(applicationId: string, figure: Figure): Promise<void>;
  readonly pauseFactor?: number;
}): Recounts<Figure> {
  const counted = new LruMap<string, Counted<Figure>>(applicationsMax);

  async function count(applicationId: string, entry: Counted<Figure>): Promise<void> {
    const began = performance.now();
    await recount(applicationId, entry.figure).catch(() => {});
    entry.nextAt = clock.now() + Math.max(everyMs, (performance.now() - began) * pauseFactor);
    entry.isCounting = false;
  }
  // Runs in the context of the process start: the count must not join the transaction of the call that triggers it.
  const countOutside = AsyncResource.bind(count);

  return {
    find(applicationId) {
      let entry = counted.get(applicationId);
      if (entry === undefined) {
        entry = { figure: create(), nextAt: Number.NEGATIVE_INFINITY, isCounting: false };
        counted.set(applicationId, entry);
      }
      if (!entry.isCounting && clock.now() >= entry.nextAt) {
        entry.isCounting = true;
        void countOutside(applicationId, entry);
      }
      return entry.figure;
    },
  };
}
