import type { Config } from "../config.ts";
import type { Call } from "../contract/call.ts";
import { type ApplicationPolicy, matchesPattern } from "../contract/policy.ts";
import type { AddressLimit, AnyCaller, Caller, Route } from "../contract/route.ts";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { createAgeCheck } from "../lib/ids.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { createTokenBuckets, type Limit, type TokenBucket } from "../lib/token-buckets.ts";

/** The limits of the deployment, which applications may override. */
export interface RateLimitSettings {
  /** Per device with all its users, or per operator. */
  readonly caller: Limit;
  /** Per application and address, for all devices behind it. */
  readonly address: Limit;
  /** The same, for devices in their first minute; undefined treats them like older ones. */
  readonly newDevices: Limit | undefined;
  /** Per application. */
  readonly application: Limit;
  /** For metric events, of which one call contains up to a thousand. */
  readonly events: Readonly<Record<"caller" | "address" | "application", Limit>>;
  /** Per address. */
  readonly addresses: Readonly<Record<AddressLimit, Limit>>;
  /**
   * The number of processes that share the address. Calls over many connections (of an application or an address)
   * spread over them, so each process takes its share of the limit; one device usually reaches one process.
   */
  readonly workers: number;
}

type RateLimitConfig = Pick<
  Config,
  | "workers"
  | "rateLimits"
  | "rateLimitCallerPerSecond"
  | "rateLimitAddressPerSecond"
  | "rateLimitNewDevicesPerSecond"
  | "rateLimitApplicationPerSecond"
  | "rateLimitEventsPerSecond"
  | "rateLimitRegistrationsPerSecond"
  | "rateLimitSignInsPerSecond"
  | "rateLimitPasswordResetsPerSecond"
  | "rateLimitDownloadsPerSecond"
>;

const operatorSignInsPerSecond = 5;

/** Multiples of the event limit of one device for an address and an application, in about the proportions of calls. */
const eventsFactor = { address: 5, application: 10 };

/** @returns undefined when rate limits are off */
export function readRateLimits(config: RateLimitConfig): RateLimitSettings | undefined {
  if (!config.rateLimits) return undefined;
  const lasting = (perSecond: number, seconds: number) => ({ perSecond, burst: perSecond * seconds });
  return {
    workers: config.workers,
    caller: lasting(config.rateLimitCallerPerSecond, 10),
    address: lasting(config.rateLimitAddressPerSecond, 20),
    newDevices:
      config.rateLimitNewDevicesPerSecond === 0 ? undefined : lasting(config.rateLimitNewDevicesPerSecond, 20),
    application: lasting(config.rateLimitApplicationPerSecond, 10),
    events: {
      // A device that was offline reports thousands of events at once.
      caller: lasting(config.rateLimitEventsPerSecond, 30),
      address: lasting(config.rateLimitEventsPerSecond * eventsFactor.address, 30),
      application: lasting(config.rateLimitEventsPerSecond * eventsFactor.application, 30),
    },
    // Thousands of phones can share one address and reconnect together.
    addresses: {
      registrations: lasting(config.rateLimitRegistrationsPerSecond, 20),
      signUps: lasting(config.rateLimitSignInsPerSecond, 20),
      logins: lasting(config.rateLimitSignInsPerSecond, 20),
      passwordResets: lasting(config.rateLimitPasswordResetsPerSecond, 20),
      operatorSignIns: lasting(operatorSignInsPerSecond, 20),
      downloads: lasting(config.rateLimitDownloadsPerSecond, 20),
    },
  };
}

/** The rest of a limit, for the response headers. */
export interface Quota {
  readonly name: "caller" | "application" | "address" | "operation" | "events";
  readonly limit: Limit;
  readonly left: number;
  /** The time until the bucket is full. */
  readonly fullInSeconds: number;
}

/** A call exceeds a limit; the error says when to retry. */
export class RateLimitExceeded extends ApiError {
  readonly quota: Quota;

  constructor(quota: Quota, waitMs: number) {
    super("RateLimitExceeded", undefined, { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    this.quota = quota;
  }
}

/** The properties of an operation that limits depend on. */
type Limited = { readonly method: string; readonly path: string } & Partial<Pick<Route, "addressLimit" | "download">>;

type LimitedCall = Pick<Call, "path" | "address">;

/** Counts calls, per process (hostile.md 28, 30). */
export interface RateLimits {
  /**
   * Counts a call against all of its limits, or against none if it exceeds one.
   *
   * @returns the caller's bucket, for `quotaOf`
   * @throws RateLimitExceeded
   */
  admit(route: Limited, call: LimitedCall, caller: AnyCaller | undefined): TokenBucket | undefined;
  /**
   * Counts a call without a token, once its application is known; its address has been counted before.
   *
   * @throws RateLimitExceeded
   */
  admitTo(application: KnownApplication, route: Limited, call: LimitedCall): void;
  /**
   * Counts an admitted call against the application's limit for another, equivalent operation.
   *
   * @throws RateLimitExceeded
   */
  admitAs(operation: Pick<Limited, "method" | "path">, call: LimitedCall, caller: AnyCaller): void;
  /**
   * Counts the metric events of an admitted call against the limits of its device, address and application, or against
   * none if they exceed one.
   *
   * @throws RateLimitExceeded
   */
  admitEvents(call: Pick<Call, "address" | "admission">, caller: Caller, count: number): void;
  /** Counts the cost of an admitted call as this many further calls. */
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

const unlimited: RateLimits = {
  admit: () => undefined,
  admitTo() {},
  admitAs() {},
  admitEvents() {},
  charge() {},
  quotaOf: () => undefined,
};

/** Per kind of bucket; each takes about 150 bytes. */
const bucketsMax = 100_000;

/** The age below which a device counts as new. */
const newDeviceMs = 60_000;
/** The share of its burst that a new device gets: enough for a client's first synchronization, and for test suites. */
const newDeviceBurstShare = 3 / 4;
/** A smaller burst is not reduced, because the application has chosen it deliberately. */
const newDeviceBurstMin = 100;

/** @param settings undefined turns rate limits off */
export function createRateLimits(settings: RateLimitSettings | undefined, clock: Clock): RateLimits {
  if (settings === undefined) return unlimited;
  const defaults = settings;
  const { workers } = settings;
  /** This process's share of a limit for calls over many connections. */
  const shareOf = ({ perSecond, burst }: Limit): Limit => ({
    perSecond: perSecond / workers,
    burst: Math.max(1, burst / workers),
  });
  const callers = createTokenBuckets(bucketsMax);
  const applications = createTokenBuckets(bucketsMax);
  const addresses = createTokenBuckets(bucketsMax);
  const operations = createTokenBuckets(bucketsMax);
  const events = createTokenBuckets(bucketsMax);
  const addressLimit = shareOf(defaults.address);
  const newDevicesLimit = defaults.newDevices && shareOf(defaults.newDevices);
  const isNewDevice = newDevicesLimit === undefined ? () => false : createAgeCheck("Device", newDeviceMs);

  /**
   * Raises an address limit in proportion when the application raises its device limit. A lowered device limit does not
   * lower the address limit, because many devices may share an address.
   */
  function scaled(limit: Limit, caller: Limit | undefined): Limit {
    return raisedLike(limit, caller, defaults.caller);
  }

  function newDeviceLimit({ perSecond, burst }: Limit): Limit {
    return { perSecond, burst: Math.min(burst, Math.max(newDeviceBurstMin, burst * newDeviceBurstShare)) };
  }

  function findAddress(
    kind: AddressLimit,
    applicationId: string,
    call: LimitedCall,
    limit: Limit,
    now: number,
  ): TokenBucket {
    return addresses.find(`${kind} ${applicationId} ${addressGroup(call.address)}`, shareOf(limit), now);
  }

  /**
   * The bucket for this operation besides the general limits; the first matching pattern of the application applies.
   */
  function findOperation(route: Limited, call: LimitedCall, caller: AnyCaller, now: number): TokenBucket | undefined {
    const { addressLimit } = route;
    if (!("policy" in caller)) return undefined;
    const { applicationId, deviceId, policy } = caller;
    const named = policy.limits.operations.find(({ pattern }) => matchesPattern(pattern, route, call.path, caller));
    if (addressLimit !== undefined) {
      const limit = named?.limit ?? defaults.addresses[addressLimit];
      return findAddress(addressLimit, applicationId, call, limit, now);
    }
    return named && operations.find(`${deviceId} ${named.name}`, named.limit, now);
  }

  function admitAnyone(route: Limited, call: LimitedCall, now: number): undefined {
    const kind = route.addressLimit ?? (route.download === undefined ? undefined : "downloads");
    if (kind === undefined) return;
    const bucket = findAddress(kind, "", call, defaults.addresses[kind], now);
    requireToken(bucket, "address", now);
    bucket.take(now);
  }

  return {
    admit(route, call, caller) {
      const now = clock.now();
      if (caller === undefined) return admitAnyone(route, call, now);
      if (!("policy" in caller)) {
        const own = callers.find(caller.operatorId, defaults.caller, now);
        requireToken(own, "caller", now);
        own.take(now);
        return own;
      }
      const { limits } = caller.policy;
      const isNew = isNewDevice(caller.deviceId, now);
      const ownLimit = limits.caller ?? defaults.caller;
      const own = callers.find(caller.deviceId, isNew ? newDeviceLimit(ownLimit) : ownLimit, now);
      requireToken(own, "caller", now);
      const isSpecial = route.addressLimit !== undefined || limits.operations.length > 0;
      const operation = isSpecial ? findOperation(route, call, caller, now) : undefined;
      if (operation !== undefined) requireToken(operation, route.addressLimit ? "address" : "operation", now);
      const addressKey = `${caller.applicationId} ${addressGroup(call.address)}`;
      const near = addresses.find(addressKey, scaled(addressLimit, limits.caller), now);
      requireToken(near, "address", now);
      const newcomers =
        isNew && newDevicesLimit !== undefined
          ? addresses.find(`newDevices ${addressKey}`, scaled(newDevicesLimit, limits.caller), now)
          : undefined;
      if (newcomers !== undefined) requireToken(newcomers, "address", now);
      const all = applications.find(caller.applicationId, shareOf(limits.application ?? defaults.application), now);
      requireToken(all, "application", now);
      own.take(now);
      operation?.take(now);
      near.take(now);
      newcomers?.take(now);
      all.take(now);
      return own;
    },

    admitTo({ id, policy: { limits } }, route, call) {
      const now = clock.now();
      const named = limits.operations.find(({ pattern }) => matchesPattern(pattern, route, call.path, undefined));
      const own = named && findAddress(route.addressLimit ?? "downloads", id, call, named.limit, now);
      if (own !== undefined) requireToken(own, "address", now);
      const all = applications.find(id, shareOf(limits.application ?? defaults.application), now);
      requireToken(all, "application", now);
      own?.take(now);
      all.take(now);
    },

    admitAs(operation, call, caller) {
      const now = clock.now();
      const bucket = findOperation(operation, call, caller, now);
      if (bucket === undefined) return;
      requireToken(bucket, "operation", now);
      bucket.take(now);
    },

    admitEvents({ address, admission }, { applicationId, deviceId, policy: { limits } }, count) {
      if (admission?.areEventsAdmitted) return;
      const now = clock.now();
      const { caller, address: near, application } = defaults.events;
      const buckets = [
        events.find(deviceId, raisedLike(caller, limits.caller, defaults.caller), now),
        events.find(
          `${applicationId} ${addressGroup(address)}`,
          shareOf(raisedLike(near, limits.caller, defaults.caller)),
          now,
        ),
        events.find(applicationId, shareOf(raisedLike(application, limits.application, defaults.application)), now),
      ];
      for (const bucket of buckets) requireToken(bucket, "events", now, count);
      for (const bucket of buckets) bucket.take(now, count);
      if (admission !== undefined) admission.areEventsAdmitted = true;
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

/** Raises a limit in the proportion in which the application has raised another one; never lowers it. */
function raisedLike(limit: Limit, own: Limit | undefined, usual: Limit): Limit {
  const factor = own === undefined ? 1 : Math.max(1, own.perSecond / usual.perSecond);
  return factor === 1 ? limit : { perSecond: limit.perSecond * factor, burst: limit.burst * factor };
}

function requireToken(bucket: TokenBucket, name: Quota["name"], now: number, count = 1): void {
  const waitMs = bucket.waitMs(now, count);
  if (waitMs > 0) throw new RateLimitExceeded(describe(bucket, name, now), waitMs);
}

function describe(bucket: TokenBucket, name: Quota["name"], now: number): Quota {
  const { limit } = bucket;
  const missing = bucket.missing(now);
  return {
    name,
    limit,
    left: Math.max(0, Math.floor(limit.burst - missing + 1e-6)),
    fullInSeconds: Math.ceil(missing / limit.perSecond),
  };
}
