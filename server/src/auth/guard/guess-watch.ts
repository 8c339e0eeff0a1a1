import type { Clock } from "../../lib/clock.ts";
import { LruMap } from "../../lib/lru-map.ts";
import type { Failures } from "./failure-counts.ts";
import type { SharedFailures } from "./shared-failures.ts";

/** Many wrong passwords were given for one name. The only consequence is a notification to operators. */
export interface Guessing {
  /** Undefined for an operator's name. */
  readonly applicationId: string | undefined;
  /** Wrong passwords within the hour. */
  readonly failures: number;
}

export interface GuessWatch {
  /** Counts a wrong password for a name. @param key a digest of the name */
  add(key: string, applicationId: string | undefined): Promise<void>;
}

const failuresPerHour = 100;
const hourMs = 3_600_000;
const namesMax = 50_000;

/**
 * @param services `shared` counts over all processes
 * @param settings the number of workers: a worker that counts locally reports at its share of the limit
 */
export function createGuessWatch(
  services: {
    readonly clock: Clock;
    readonly shared: SharedFailures | undefined;
    onGuessing(guessing: Guessing): void;
  },
  settings: { readonly workers: number },
): GuessWatch {
  const { clock, shared, onGuessing } = services;
  const localFailuresMax = Math.ceil(failuresPerHour / settings.workers);
  const names = new LruMap<string, Failures>(namesMax);

  function count(name: Failures): number {
    const now = clock.now();
    if (now >= name.forgottenAt) Object.assign(name, { failures: 0, forgottenAt: now + hourMs });
    name.failures += 1;
    return name.failures;
  }

  function countLocally(key: string): number {
    const name = names.get(key) ?? { failures: 0, underWay: 0, waitsUntil: 0, forgottenAt: 0 };
    names.set(key, name);
    return count(name);
  }

  return {
    async add(key, applicationId) {
      const sharedCount = await shared?.change(applicationId ?? "", `guesses within an hour ${key}`, count);
      const failures = sharedCount ?? countLocally(key);
      const failuresMax = sharedCount === undefined ? localFailuresMax : failuresPerHour;
      if (failures === failuresMax) onGuessing({ applicationId, failures }); // once an hour
    },
  };
}
