import type { Clock } from "../lib/clock.ts";
import { LruMap } from "../lib/lru-map.ts";

/** Many wrong passwords were given for one name. The only consequence is a notification to operators. */
export interface Guessing {
  /** Undefined for an operator's name. */
  readonly applicationId: string | undefined;
  /** Wrong passwords within the hour, as counted by this process. */
  readonly failures: number;
}

export interface GuessWatch {
  /** Counts a wrong password for a name. @param key a digest of the name */
  add(key: string, applicationId: string | undefined): void;
}

const failuresPerHour = 100;
const hourMs = 3_600_000;
const namesMax = 50_000;

/** @param settings the number of workers, because each process counts only its share of the guesses */
export function createGuessWatch(
  services: { readonly clock: Clock; onGuessing(guessing: Guessing): void },
  settings: { readonly workers: number },
): GuessWatch {
  const { clock, onGuessing } = services;
  const failuresMax = Math.ceil(failuresPerHour / settings.workers);
  const names = new LruMap<string, { failures: number; readonly since: number }>(namesMax);
  return {
    add(key, applicationId) {
      const now = clock.now();
      let name = names.get(key);
      if (name === undefined || now - name.since >= hourMs) {
        name = { failures: 0, since: now };
        names.set(key, name);
      }
      name.failures += 1;
      if (name.failures === failuresMax) onGuessing({ applicationId, failures: name.failures }); // once an hour
    },
  };
}
