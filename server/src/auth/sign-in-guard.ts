import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { createFailureCounts, type FailureCounts, type Try } from "../lib/failure-counts.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { createTokenBuckets, type Limit } from "../lib/token-buckets.ts";

/** Whose password is tried, and by whom. */
export interface SignInAttempt {
  /** Undefined for an operator's. */
  readonly applicationId: string | undefined;
  /** The name in the form that is unique, whether there is anybody of that name or not. */
  readonly nameKey: string;
  readonly address: string;
  /** Undefined where there is no device. */
  readonly deviceId: string | undefined;
}

/** Somebody has to wait from now on. */
export interface LockOut extends SignInAttempt {
  readonly waitMs: number;
  /** Who waits: callers like this one, or everybody who has not signed in under this name before. */
  readonly scope: "address" | "name";
}

/**
 * Slows who guesses passwords (hostile.md 7), in the memory of this process.
 *
 * ```
 * address           wrong ones of one address, whoever they are for       a bucket
 * name + address    wrong ones in a row; a right one ends the row         failuresMax, then 1 s, 2 s, 4 s … 15 min
 * name              the same from everywhere, ten times as many           slows nobody who has signed in before
 * ```
 *
 * Who has signed in under this name from this device and address before is counted alone: no one else's guesses are in
 * the way. Tokens are not looked at here.
 */
export interface SignInGuard {
  /**
   * Counts an attempt before it is judged, so that many at once are not more than many one after the other, and takes it
   * back when it is right. To be called where no transaction waits for it (`Database.apart`).
   *
   * @param isRight judges the password
   * @returns what `isRight` says
   * @throws ApiError RateLimitExceeded, ServiceUnavailable when too many wait, and whatever `isRight` throws
   */
  check(attempt: SignInAttempt, isRight: () => Promise<boolean>): Promise<boolean>;
  /** Knows a caller from now on who has proven to be the user by other means: by signing up. */
  welcome(attempt: SignInAttempt): void;
}

interface Settings {
  /** False: nothing is counted. */
  readonly rateLimits: boolean;
  readonly signInFailuresMax: number;
  /** Processes that count, each for itself: each lets its part through, but for what a person mistypes. */
  readonly workers: number;
  readonly passwordHashQueueMax: number;
}

const failuresOfAddress: Limit = { perSecond: 5, burst: 1_000 };
/** Guesses from everywhere, for one from an address. */
const addressesPerName = 10;
/** So often a person may be wrong, however many processes there are. */
const mistypedMax = 3;
const countsMax = 200_000;
const addressesMax = 100_000;
const knownNamesMax = 50_000;
const knownCallersMax = 8;

export function createSignInGuard(
  services: { readonly clock: Clock; onLockOut(lockOut: LockOut): void },
  settings: Settings,
): SignInGuard {
  const { clock, onLockOut } = services;
  const { passwordHashQueueMax: waitingMax, workers } = settings;
  const failuresMax = Math.min(
    settings.signInFailuresMax,
    Math.max(Math.ceil(settings.signInFailuresMax / workers), mistypedMax),
  );
  if (!settings.rateLimits) return { check: (_attempt, isRight) => isRight(), welcome() {} };
  const byCaller = createFailureCounts(failuresMax, countsMax, clock);
  const byName = createFailureCounts(failuresMax * addressesPerName, countsMax, clock);
  const addresses = createTokenBuckets(addressesMax);
  /** Digests of the latest callers that have signed in, by the digest of the name. */
  const known = new LRUCache<string, readonly string[]>({ max: knownNamesMax });
  let waiting = 0;

  async function begin(counts: FailureCounts, key: string): Promise<Try> {
    if (waiting >= waitingMax) throw new ApiError("ServiceUnavailable", "Too many sign-ins are waiting. Try again.");
    waiting += 1;
    const begun = await counts.begin(key).finally(() => {
      waiting -= 1;
    });
    if (typeof begun === "number") throw tooManyGuesses(begun);
    return begun;
  }

  function remember(name: string, caller: string): void {
    const others = (known.get(name) ?? []).filter((each) => each !== caller);
    known.set(name, [caller, ...others].slice(0, knownCallersMax));
  }

  return {
    welcome(attempt) {
      const { name, caller } = digestsOf(attempt);
      remember(name, caller);
    },

    async check(attempt, isRight) {
      const { applicationId = "", nameKey } = attempt;
      const { address, name, caller } = digestsOf(attempt);
      const isKnown = known.get(name)?.includes(caller) ?? false;

      const now = clock.now();
      const bucket = isKnown ? undefined : addresses.find(address, failuresOfAddress, now);
      const waitMs = bucket?.waitMs(now) ?? 0;
      if (waitMs > 0) throw tooManyGuesses(waitMs);
      bucket?.take(now);

      let own: Try | undefined;
      let all: Try | undefined;
      let outcome: boolean | undefined;
      try {
        own = await begin(byCaller, isKnown ? caller : digest([applicationId, nameKey, address]));
        all = isKnown ? undefined : await begin(byName, name);
        outcome = await isRight();
        return outcome;
      } finally {
        if (outcome === false) {
          tell("address", own?.fail());
          tell("name", all?.fail());
        } else {
          bucket?.giveBack();
          own?.end(outcome === true);
          all?.end(false);
          if (outcome === true) remember(name, caller);
        }
      }

      function tell(scope: LockOut["scope"], waitMs = 0): void {
        if (waitMs > 0) onLockOut({ ...attempt, waitMs, scope });
      }
    },
  };
}

function tooManyGuesses(waitMs: number): ApiError {
  return new ApiError(
    "RateLimitExceeded",
    "Too many wrong passwords. Try again after the time that Retry-After names.",
    {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    },
  );
}

function digestsOf({ applicationId = "", nameKey, deviceId = "", address: given }: SignInAttempt) {
  const address = addressGroup(given);
  const name = digest([applicationId, nameKey]);
  return { address, name, caller: digest([applicationId, nameKey, address, deviceId]) };
}

/** Of one length, however long a name somebody makes up. */
function digest(parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url");
}
