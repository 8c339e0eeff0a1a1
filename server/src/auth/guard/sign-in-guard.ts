import { hash } from "node:crypto";
import type { Limit } from "../../contract/policy.ts";
import { type Clock, createClock } from "../../lib/clock.ts";
import { ApiError } from "../../lib/errors.ts";
import { addressGroup, networksOf } from "../../lib/ip-addresses.ts";
import type { LimitCounters } from "../../limits/counters.ts";
import { takeToken } from "../../limits/token-buckets.ts";
import {
  createFailureCounts,
  createLocalFailures,
  type FailureCounts,
  type FailureStore,
  type Failures,
  type PendingAttempt,
  partOf,
} from "./failure-counts.ts";
import { createLocalLimiter, createSharedLimiter } from "./guess-limiter.ts";
import { createGuessQueue } from "./guess-queue.ts";
import { createSharedFailures } from "./shared-failures.ts";

/** A password attempt. */
export interface SignInAttempt {
  /** Undefined for an operator's sign-in. */
  readonly applicationId: string | undefined;
  /** The name in its unique form, whether or not such a user exists. */
  readonly nameKey: string;
  readonly address: string;
  /** The calling device; undefined for an operator's sign-in. */
  readonly deviceId: string | undefined;
  /**
   * The origin, if it is recognized: a device from which the user has signed in, or the mark of an operator's browser.
   * Guesses of other callers do not delay it.
   */
  readonly recognizedOrigin: string | undefined;
  /**
   * The call has a token of the operator: it skips the queue of unrecognized callers, and its guesses count with
   * theirs.
   */
  readonly hasToken?: boolean;
  /** Aborts when the client disconnects. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Checks a password.
 *
 * @param isRecognized false for an origin whose guesses have exhausted its trust
 * @returns undefined for a password that is neither right nor a guess: it counts as no attempt
 */
export type PasswordCheck = (isRecognized: boolean) => Promise<boolean | undefined>;

/** Callers like this one must wait from now on. */
export interface LockOut extends Pick<SignInAttempt, "applicationId" | "deviceId" | "address"> {
  readonly waitMs: number;
  /** Whether all callers of an address must wait, or only a recognized origin. */
  readonly scope: "address" | "origin";
}

/** Many wrong passwords were given for one name. The only consequence is a notification to operators. */
export interface Guessing {
  /** Undefined for an operator's name. */
  readonly applicationId: string | undefined;
  /** Wrong passwords within the hour. */
  readonly failures: number;
}

/**
 * Slows down password guessing (hostile.md 7, 42). Where processes share counters, all of these count over
 * all processes. No failure counter is keyed by the name only, so that wrong passwords delay the attacker and
 * never lock out the owner of the name.
 *
 * ```
 * name + address        consecutive wrong ones; a right one resets       failuresMax, then 1 s, 2 s, 4 s … 15 min
 * name + origin         the same for a recognized origin                 guesses of others do not count
 * address               wrong ones of one address, for any name          a bucket; not for recognized origins
 * name                  attempts of unrecognized callers                 a bounded rate, fair by network
 * ```
 */
export interface SignInGuard {
  /**
   * Counts an attempt before the password is checked, so that concurrent attempts are limited like sequential ones, and
   * uncounts it when the password is right. Must run outside of transactions (`Database.outsideTransaction`).
   *
   * @returns whether `isRight` returned true
   * @throws ApiError RateLimitExceeded, ServiceUnavailable when the queue is full, and errors of `isRight`
   */
  check(attempt: SignInAttempt, isRight: PasswordCheck): Promise<boolean>;
}

interface Settings {
  /** False disables counting. */
  readonly rateLimits: boolean;
  readonly signInFailuresMax: number;
  /** Processes that may count separately: each then admits its share, but at least the usual typing mistakes. */
  readonly workers: number;
  readonly passwordHashQueueMax: number;
}

interface Services {
  readonly clock: Clock;
  readonly counters: Pick<LimitCounters, "createBuckets" | "shared">;
  onLockOut(lockOut: LockOut): void;
  onGuessing(guessing: Guessing): void;
}

const failuresOfAddress: Limit = { perSecond: 5, burst: 1_000 };
/** Consecutive wrong passwords from one device, at any address, before it counts as unrecognized. */
const failuresPerDeviceMax = 100;
const countsMax = 200_000;
/** Wrong passwords for one name within an hour that are reported. */
const failuresPerHour = 100;
const hourMs = 3_600_000;
const watchedNamesMax = 50_000;
const addressesMax = 100_000;
/** Attempts of unrecognized callers per name, and for all operator names together. */
const guessesPerSecond = 10;
/** Many devices of one account may sign in simultaneously; operators are few. */
const userBurst = 100;
const operatorBurst = 20;

export function createSignInGuard(services: Services, settings: Settings): SignInGuard {
  const { clock, counters, onLockOut, onGuessing } = services;
  const { passwordHashQueueMax: waitingMax, workers } = settings;
  if (!settings.rateLimits) {
    return { check: async ({ recognizedOrigin }, isRight) => (await isRight(recognizedOrigin !== undefined)) === true };
  }
  const shared = counters.shared && createSharedFailures({ clock, shared: counters.shared });
  const createStores = (keysMax: number): FailureStore[] => [
    ...(shared === undefined ? [] : [shared]),
    createLocalFailures({ processes: workers, keysMax }, clock),
  ];
  const createCounts = (kind: string, failuresMax: number) =>
    createFailureCounts({ kind, failuresMax, waitingMax }, { clock, stores: createStores(countsMax) });
  const counts = createCounts("failures for a name", settings.signInFailuresMax);
  const devices = createCounts("failures of a device", failuresPerDeviceMax);
  const addresses = counters.createBuckets("failures of an address", addressesMax);
  const watched = createStores(watchedNamesMax);
  const guesses = createGuessQueues(shared, workers);

  async function checkRecognized(
    attempt: SignInAttempt,
    attempts: readonly PendingAttempt[],
    isRight: PasswordCheck,
  ): Promise<boolean> {
    let outcome: boolean | undefined;
    try {
      outcome = await isRight(true);
      return outcome === true;
    } finally {
      await settle(attempt, "origin", attempts, outcome);
    }
  }

  async function checkUnrecognized(attempt: SignInAttempt, isRight: PasswordCheck): Promise<boolean> {
    const { applicationId, nameKey, address, signal, hasToken = false } = attempt;
    const group = addressGroup(address);
    const bucket = addresses.find(group, failuresOfAddress, clock.now());
    await takeToken(bucket, clock, tooManyGuesses);
    let own: PendingAttempt | undefined;
    let outcome: boolean | undefined;
    try {
      own = await begin(counts, digest([applicationId ?? "", nameKey, group]), applicationId);
      const guess = { networks: networksOf(address), signal };
      if (applicationId === undefined) {
        if (!hasToken) await guesses.operators.take({ applicationId: "", key: "", ...guess });
      } else await guesses.users.take({ applicationId, key: digest([applicationId, nameKey]), ...guess });
      outcome = await isRight(false);
      return outcome === true;
    } finally {
      if (outcome !== false) bucket.giveBack();
      await settle(attempt, "address", own === undefined ? [] : [own], outcome);
    }
  }

  async function settle(
    attempt: SignInAttempt,
    scope: LockOut["scope"],
    attempts: readonly PendingAttempt[],
    outcome: boolean | undefined,
  ): Promise<void> {
    const { applicationId, deviceId, address, nameKey } = attempt;
    if (outcome !== false) {
      await Promise.all(attempts.map((each) => each.end(outcome === true)));
      return;
    }
    const isWatched = watch(digest([applicationId ?? "", nameKey]), applicationId);
    const waitMs = Math.max(...(await Promise.all(attempts.map((each) => each.fail()))));
    if (waitMs > 0) onLockOut({ applicationId, deviceId, address, scope, waitMs });
    await isWatched;
  }

  /** Counts a wrong password for a name, and reports the hundredth one of an hour. @param key a digest of the name */
  async function watch(key: string, applicationId: string | undefined): Promise<void> {
    const count = (name: Failures) => {
      const now = clock.now();
      if (now >= name.forgottenAt) Object.assign(name, { failures: 0, forgottenAt: now + hourMs });
      name.failures += 1;
      return name.failures;
    };
    for (const store of watched) {
      const failures = await store.change(applicationId ?? "", `guesses within an hour ${key}`, count);
      if (failures === undefined) continue;
      if (failures === partOf(failuresPerHour, store)) onGuessing({ applicationId, failures });
      return;
    }
  }

  return {
    async check(attempt, isRight) {
      const { recognizedOrigin: origin } = attempt;
      const attempts = origin === undefined ? undefined : await beginRecognized(attempt, origin, counts, devices);
      return attempts === undefined ? checkUnrecognized(attempt, isRight) : checkRecognized(attempt, attempts, isRight);
    },
  };
}

/** Creates the queues of unrecognized attempts. */
function createGuessQueues(failures: FailureStore | undefined, workers: number) {
  const clock = createClock(); // permits take real time, even in tests that move the clock
  const createQueue = (burst: number, waitingPerNetworkMax: number) =>
    createGuessQueue({
      waitingPerNetworkMax,
      createLimiter({ applicationId, key }) {
        const fallbackRate = { perSecond: Math.max(1, guessesPerSecond / workers), burst };
        if (failures === undefined) return createLocalLimiter(fallbackRate);
        const rate = { perSecond: guessesPerSecond, burst };
        return createSharedLimiter(
          { applicationId, key: `attempts for a name ${key}`, rate, fallbackRate },
          { clock, failures },
        );
      },
    });
  return { users: createQueue(userBurst, 50), operators: createQueue(operatorBurst, 1) };
}

/**
 * Counts an attempt of a recognized origin.
 *
 * @returns undefined when the origin must wait, and thus counts as unrecognized
 */
async function beginRecognized(
  attempt: SignInAttempt,
  origin: string,
  counts: FailureCounts,
  devices: FailureCounts,
): Promise<PendingAttempt[] | undefined> {
  const { applicationId = "", nameKey, address } = attempt;
  const isDevice = attempt.applicationId !== undefined;
  if (!isDevice) {
    // An operator's browser is counted by its mark only, at any address.
    const own = await counts.begin(digest(["", nameKey, origin]));
    return typeof own === "object" ? [own] : undefined;
  }
  const device = await devices.begin(digest([applicationId, nameKey, origin]), applicationId);
  if (typeof device !== "object") return undefined;
  try {
    // Includes the address, so that a client that claims to be this device cannot delay it.
    const key = digest([applicationId, nameKey, addressGroup(address), origin]);
    return [device, await begin(counts, key, applicationId)];
  } catch (error) {
    await device.end(false);
    throw error;
  }
}

/** @throws ApiError */
async function begin(counts: FailureCounts, key: string, applicationId: string | undefined): Promise<PendingAttempt> {
  const begun = await counts.begin(key, applicationId);
  if (begun === "full") throw new ApiError("ServiceUnavailable", "Too many sign-ins are waiting. Try again.");
  if (typeof begun === "number") throw tooManyGuesses(begun);
  return begun;
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

/** A key of fixed length for names of any length. */
function digest(parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts), "base64url");
}
