import { AsyncResource } from "node:async_hooks";
import type { Clock } from "./clock.ts";
import { LruMap } from "./lru-map.ts";

/** Counts of applications that are refreshed periodically in the background. */
export interface Recounts<Figure> {
  /** Returns the latest count of an application, and starts a refresh if it is due. */
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
 * Caches one figure per application, for limits whose shared counter row would serialize transactions on PostgreSQL.
 *
 * @param create returns the figure before the first count
 * @param recount updates a figure; if it fails, the figure stays the same until the next count
 * @param pauseFactor the pause after a count is at least this many times as long as the count
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
  // Runs outside of the context of the call that triggers it, whose transaction it must not join.
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
