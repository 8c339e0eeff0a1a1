import type { Config } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import { createTokenBuckets, type Limit, type TokenBucket } from "../lib/token-buckets.ts";
import type { Call } from "./call.ts";
import { type ApplicationPolicy, isMeant } from "./policy.ts";
import type { AddressLimit, AnyCaller, Route } from "./route.ts";

/** The limits of the deployment, where an application has none of its own. */
export interface RateLimitSettings {
  /** Of one device with all its users, or one operator. */
  readonly caller: Limit;
  /** Of all the callers of an application together. */
  readonly application: Limit;
  /** Of one address. */
  readonly addresses: Readonly<Record<AddressLimit, Limit>>;
  /**
   * How many processes take calls at one address, each with memory of its own. What comes over many connections (an
   * application, an address) is spread over them, and each takes its part; one device comes to one of them as a rule.
   */
  readonly workers: number;
}

type RateLimitConfig = Pick<
  Config,
  | "workers"
  | "rateLimits"
  | "rateLimitCallerPerSecond"
  | "rateLimitApplicationPerSecond"
  | "rateLimitRegistrationsPerSecond"
  | "rateLimitSignInsPerSecond"
  | "rateLimitPasswordResetsPerSecond"
  | "rateLimitDownloadsPerSecond"
>;

const operatorSignInsPerSecond = 5;

/** @returns undefined where there are no limits */
export function readRateLimits(config: RateLimitConfig): RateLimitSettings | undefined {
  if (!config.rateLimits) return undefined;
  const lasting = (perSecond: number, seconds: number) => ({ perSecond, burst: perSecond * seconds });
  return {
    workers: config.workers,
    caller: lasting(config.rateLimitCallerPerSecond, 10),
    application: lasting(config.rateLimitApplicationPerSecond, 10),
    // Thousands of phones can share one address, and come back together.
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

/** How much of a limit is left, to be told. */
export interface Quota {
  readonly name: "caller" | "application" | "address" | "operation";
  readonly limit: Limit;
  readonly left: number;
  /** Until all of it is there again. */
  readonly fullInSeconds: number;
}

/** A call above a limit: it says when one will be taken again. */
export class RateLimitExceeded extends ApiError {
  readonly quota: Quota;

  constructor(quota: Quota, waitMs: number) {
    super("RateLimitExceeded", undefined, { retryAfterSeconds: Math.ceil(waitMs / 1_000) });
    this.quota = quota;
  }
}

/** What is called, as far as limits go by it. */
type Limited = { readonly method: string; readonly path: string } & Partial<Pick<Route, "addressLimit" | "download">>;

type LimitedCall = Pick<Call, "path" | "address">;

/** Counts calls, each process for itself (hostile.md 28, 30). */
export interface RateLimits {
  /**
   * Counts a call against every limit that it falls under, or against none.
   *
   * @returns what the caller has left, for `quotaOf`
   * @throws RateLimitExceeded
   */
  admit(route: Limited, call: LimitedCall, caller: AnyCaller | undefined): TokenBucket | undefined;
  /**
   * Counts a call that came without a token, once its application is known; its address was counted before.
   *
   * @throws RateLimitExceeded
   */
  admitTo(application: KnownApplication, route: Limited, call: LimitedCall): void;
  /**
   * Counts a call that has been admitted against the limit that the application has for another operation, which it comes
   * to the same as.
   *
   * @throws RateLimitExceeded
   */
  admitAs(operation: Pick<Limited, "method" | "path">, call: LimitedCall, caller: AnyCaller): void;
  /** @returns undefined as long as half of it is left: told with every answer it would cost 2 % of the shortest call */
  quotaOf(bucket: TokenBucket): Quota | undefined;
}

export interface KnownApplication {
  readonly id: string;
  readonly policy: ApplicationPolicy;
}

const unlimited: RateLimits = { admit: () => undefined, admitTo() {}, admitAs() {}, quotaOf: () => undefined };

/** Of each kind; some 150 bytes each. */
const bucketsMax = 100_000;

/** @param settings undefined for no limits at all */
export function createRateLimits(settings: RateLimitSettings | undefined, clock: Clock): RateLimits {
  if (settings === undefined) return unlimited;
  const defaults = settings;
  const { workers } = settings;
  /** What this process takes of what many connections come to. */
  const partOf = ({ perSecond, burst }: Limit): Limit => ({
    perSecond: perSecond / workers,
    burst: Math.max(1, burst / workers),
  });
  const callers = createTokenBuckets(bucketsMax);
  const applications = createTokenBuckets(bucketsMax);
  const addresses = createTokenBuckets(bucketsMax);
  const operations = createTokenBuckets(bucketsMax);

  function findAddress(
    kind: AddressLimit,
    applicationId: string,
    call: LimitedCall,
    limit: Limit,
    now: number,
  ): TokenBucket {
    return addresses.find(`${kind} ${applicationId} ${addressGroup(call.address)}`, partOf(limit), now);
  }

  /** What limits this operation beside the others; of several patterns of the application the first that fits. */
  function findOperation(route: Limited, call: LimitedCall, caller: AnyCaller, now: number): TokenBucket | undefined {
    const { addressLimit } = route;
    if (!("policy" in caller)) return undefined;
    const { applicationId, deviceId, policy } = caller;
    const named = policy.limits.operations.find(({ pattern }) => isMeant(pattern, route, call.path, caller));
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
      const own = callers.find(caller.deviceId, limits.caller ?? defaults.caller, now);
      requireToken(own, "caller", now);
      const isSpecial = route.addressLimit !== undefined || limits.operations.length > 0;
      const operation = isSpecial ? findOperation(route, call, caller, now) : undefined;
      if (operation !== undefined) requireToken(operation, route.addressLimit ? "address" : "operation", now);
      const all = applications.find(caller.applicationId, partOf(limits.application ?? defaults.application), now);
      requireToken(all, "application", now);
      own.take(now);
      operation?.take(now);
      all.take(now);
      return own;
    },

    admitTo({ id, policy: { limits } }, route, call) {
      const now = clock.now();
      const named = limits.operations.find(({ pattern }) => isMeant(pattern, route, call.path, undefined));
      const own = named && findAddress(route.addressLimit ?? "downloads", id, call, named.limit, now);
      if (own !== undefined) requireToken(own, "address", now);
      const all = applications.find(id, partOf(limits.application ?? defaults.application), now);
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

    quotaOf(bucket) {
      const now = clock.now();
      return bucket.missing(now) * 2 <= bucket.limit.burst ? undefined : describe(bucket, "caller", now);
    },
  };
}

function requireToken(bucket: TokenBucket, name: Quota["name"], now: number): void {
  const waitMs = bucket.waitMs(now);
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
