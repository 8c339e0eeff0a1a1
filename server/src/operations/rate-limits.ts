import type { Call } from "../contract/call.ts";
import { type ApplicationPolicy, type Limit, matchesPattern } from "../contract/policy.ts";
import type { AnyCaller, Caller } from "../contract/route.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import type { LimitCounters } from "../limits/counters.ts";
import { type TokenBucket, takeFromAll } from "../limits/token-buckets.ts";
import { type Limited, type LimitedCall, RateLimitBuckets } from "./rate-limit-buckets.ts";
import type { RateLimitSettings } from "./rate-limit-settings.ts";

/** The remaining quota of a limit, for the response headers. */
export interface Quota {
  readonly name: "caller" | "application" | "address" | "operation" | "events";
  readonly limit: Limit;
  readonly left: number;
  /** The time until the bucket is full. */
  readonly fullInSeconds: number;
}

/** A call exceeds a limit. The error contains the time to wait before a retry. */
export class RateLimitExceeded extends ApiError {
  readonly quota: Quota;

  constructor(quota: Quota, waitMs: number) {
    super("RateLimitExceeded", undefined, { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    this.quota = quota;
  }
}

/**
 * Counts calls (hostile.md 28, 30). A method returns a promise if it has to borrow tokens of a shared bucket from the
 * database.
 */
export interface RateLimits {
  /**
   * Counts a call against all of its limits, or against none if it exceeds one.
   *
   * @returns the caller's bucket, for `quotaOf`
   * @throws RateLimitExceeded
   */
  admit(
    route: Limited,
    call: LimitedCall,
    caller: AnyCaller | undefined,
  ): TokenBucket | undefined | Promise<TokenBucket | undefined>;
  /**
   * Counts a request without an authenticated caller, whatever its path is.
   *
   * @throws RateLimitExceeded
   */
  admitUnknown(address: string): void;
  /**
   * Counts a call without a token against the limits of its application. `admit` has counted it against its address.
   *
   * @throws RateLimitExceeded
   */
  admitTo(application: KnownApplication, route: Limited, call: LimitedCall): void | Promise<void>;
  /**
   * Counts an admitted call against the application's limit for another, equivalent operation.
   *
   * @throws RateLimitExceeded
   */
  admitAs(operation: Pick<Limited, "method" | "path">, call: LimitedCall, caller: AnyCaller): void | Promise<void>;
  /**
   * Counts the metric events of an admitted call against the limits of its device, address and application, or against
   * none if they exceed one.
   *
   * @throws RateLimitExceeded
   */
  admitEvents(call: Pick<Call, "address" | "admission">, caller: Caller, count: number): void | Promise<void>;
  /** Counts the cost of an admitted call as this many additional calls. */
  charge(bucket: TokenBucket, calls: number): void;
  /**
   * @returns undefined while at least half is left: setting the headers on every response would cost 2 % of the
   * shortest call
   */
  quotaOf(bucket: TokenBucket): Quota | undefined;
}

export interface KnownApplication {
  readonly id: string;
  readonly policy: ApplicationPolicy;
}

/** Records the peak use of limits by the devices of an application. */
export interface PeakCounter {
  /**
   * Runs for each admitted call, so it must be cheap.
   *
   * @param limit `caller`, or the name of a limit for operations, such as `POST /checkins`
   * @param calls the number of calls of a device or address that counted against the limit within a minute
   */
  countPeak(applicationId: string, limit: string, calls: number): void;
}

/** Admits every call. */
export const unlimited: RateLimits = {
  admit: () => undefined,
  admitUnknown() {},
  admitTo() {},
  admitAs() {},
  admitEvents() {},
  charge() {},
  quotaOf: () => undefined,
};

/** @param settings undefined to turn rate limits off */
export function createRateLimits(
  settings: RateLimitSettings | undefined,
  clock: Clock,
  counters: Pick<LimitCounters, "createBuckets" | "processes">,
  peaks: PeakCounter,
): RateLimits {
  if (settings === undefined) return unlimited;
  const buckets = new RateLimitBuckets(settings, counters);

  function admitAnyone(route: Limited, call: LimitedCall): undefined | Promise<undefined> {
    const now = clock.now();
    const kind = route.addressLimit ?? (route.download === undefined ? undefined : "downloads");
    if (kind === undefined) return undefined;
    const bucket = buckets.ofAddressLimit(kind, "", call, undefined, now);
    const borrowing = takeFromAll([bucket], now, refusalOf("address", now));
    return borrowing?.then(() => admitAnyone(route, call));
  }

  function admitOperator(operatorId: string): TokenBucket | Promise<TokenBucket> {
    const now = clock.now();
    const own = buckets.ofOperator(operatorId, now);
    const borrowing = takeFromAll([own], now, refusalOf("caller", now));
    return borrowing === undefined ? own : borrowing.then(() => admitOperator(operatorId));
  }

  function admitClient(route: Limited, call: LimitedCall, caller: Caller): TokenBucket | Promise<TokenBucket> {
    const now = clock.now();
    const isNew = buckets.isNewDevice(caller.deviceId, now);
    const own = buckets.ofDevice(caller, isNew, now);
    const named = buckets.findNamed(route, call, caller);
    const operation = buckets.ofOperation(route, call, caller, now, named);
    const addressKey = `${caller.applicationId} ${addressGroup(call.address)}`;
    const near = buckets.ofAddress(addressKey, caller, now);
    const newcomers = isNew ? buckets.ofNewDevices(addressKey, caller, now) : undefined;
    const all = buckets.ofApplication(caller.applicationId, caller.policy.limits.application, now);
    const nameOf = (bucket: TokenBucket): Quota["name"] => {
      if (bucket === own) return "caller";
      if (bucket === all) return "application";
      return bucket === operation && route.addressLimit === undefined ? "operation" : "address";
    };
    const borrowing = takeFromAll([own, operation, near, newcomers, all], now, refusalOf(nameOf, now));
    if (borrowing !== undefined) return borrowing.then(() => admitClient(route, call, caller));
    if (caller.isTest) return own;
    peaks.countPeak(caller.applicationId, "caller", own.takenInMinute);
    if (named && operation) peaks.countPeak(caller.applicationId, named.name, operation.takenInMinute);
    return own;
  }

  return {
    ...createLaterLimits(buckets, clock, peaks),

    admit(route, call, caller) {
      if (caller === undefined) return admitAnyone(route, call);
      return "policy" in caller ? admitClient(route, call, caller) : admitOperator(caller.operatorId);
    },

    admitUnknown(address) {
      const now = clock.now();
      takeFromAll([buckets.ofUnknown(address, now)], now, refusalOf("address", now)); // never borrows
    },

    charge(bucket, calls) {
      bucket.take(clock.now(), calls);
    },

    quotaOf(bucket) {
      const now = clock.now();
      return bucket.missing(now) * 2 <= bucket.limit.burst ? undefined : describe(bucket, "caller", now);
    },
  };
}

/** The limits of a call that has been admitted, which depend on its parameters. */
function createLaterLimits(
  buckets: RateLimitBuckets,
  clock: Clock,
  peaks: PeakCounter,
): Pick<RateLimits, "admitTo" | "admitAs" | "admitEvents"> {
  return {
    admitTo(application, route, call) {
      const { id, policy } = application;
      const now = clock.now();
      const named = policy.limits.operations.find(({ pattern }) =>
        matchesPattern(pattern, route, call.path, undefined),
      );
      const own = named && buckets.ofAddressLimit(route.addressLimit ?? "downloads", id, call, named.limit, now);
      const all = buckets.ofApplication(id, policy.limits.application, now);
      const nameOf = (bucket: TokenBucket) => (bucket === all ? "application" : "address");
      const borrowing = takeFromAll([own, all], now, refusalOf(nameOf, now));
      if (borrowing !== undefined) return borrowing.then(() => this.admitTo(application, route, call));
      if (named && own) peaks.countPeak(id, named.name, own.takenInMinute);
      return undefined;
    },

    admitAs(operation, call, caller) {
      const now = clock.now();
      const bucket = buckets.ofOperation(operation, call, caller, now);
      const borrowing = takeFromAll([bucket], now, refusalOf("operation", now));
      return borrowing?.then(() => this.admitAs(operation, call, caller));
    },

    admitEvents(call, caller, count) {
      const { address, admission } = call;
      if (admission?.areEventsAdmitted) return undefined;
      const now = clock.now();
      const borrowing = takeFromAll(buckets.ofEvents(caller, address, now), now, refusalOf("events", now), count);
      if (borrowing !== undefined) return borrowing.then(() => this.admitEvents(call, caller, count));
      if (admission !== undefined) admission.areEventsAdmitted = true;
      return undefined;
    },
  };
}

function refusalOf(name: Quota["name"] | ((bucket: TokenBucket) => Quota["name"]), now: number) {
  return (bucket: TokenBucket, waitMs: number) =>
    new RateLimitExceeded(describe(bucket, typeof name === "string" ? name : name(bucket), now), waitMs);
}

function describe(bucket: TokenBucket, name: Quota["name"], now: number): Quota {
  const { limit } = bucket;
  return {
    name,
    limit,
    left: Math.max(0, bucket.available(now)),
    fullInSeconds: Math.ceil(bucket.missing(now) / limit.perSecond),
  };
}
