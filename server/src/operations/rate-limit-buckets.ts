import type { Call } from "../contract/call.ts";
import { type ApplicationPolicy, type Limit, matchesPattern } from "../contract/policy.ts";
import type { AddressLimit, AnyCaller, Caller, Route } from "../contract/route.ts";
import { createAgeCheck } from "../lib/ids.ts";
import { addressGroup } from "../lib/ip-addresses.ts";
import type { LimitCounters } from "../limits/counters.ts";
import { createTokenBuckets, type TokenBucket, type TokenBuckets } from "../limits/token-buckets.ts";
import type { RateLimitSettings } from "./rate-limit-settings.ts";

/** The properties of an operation on which limits depend. */
export type Limited = { readonly method: string; readonly path: string } & Partial<
  Pick<Route, "addressLimit" | "download">
>;

/** An application's limit for operations. */
type NamedLimit = ApplicationPolicy["limits"]["operations"][number];

export type LimitedCall = Pick<Call, "path" | "address">;

/** Per kind of bucket. A bucket takes about 150 bytes. */
const bucketsMax = 100_000;

/** The age below which a device counts as new. */
const newDeviceMs = 60_000;
/** The share of the burst that a new device has: enough for a client's first synchronization, and for test suites. */
const newDeviceBurstShare = 3 / 4;
/** A smaller burst is not reduced, because the application has set it deliberately. */
const newDeviceBurstMin = 100;

/** Finds the buckets of the limits that apply to a call, with the settings of the deployment and the application. */
export class RateLimitBuckets {
  readonly #settings: RateLimitSettings;
  readonly #processes: number;
  readonly #address: Limit;
  readonly #newDevices: Limit | undefined;
  readonly #callers: TokenBuckets;
  readonly #applications: TokenBuckets;
  readonly #addresses: TokenBuckets;
  /** Not shared between processes, so that a flood without credentials causes no statements. */
  readonly #unknown = createTokenBuckets(bucketsMax);
  readonly #operations: TokenBuckets;
  readonly #events: TokenBuckets;
  readonly #isYoung = createAgeCheck("Device", newDeviceMs);

  /** @param counters `processes` is the number of processes behind one address that do not share counters */
  constructor(settings: RateLimitSettings, counters: Pick<LimitCounters, "createBuckets" | "processes">) {
    this.#settings = settings;
    this.#processes = counters.processes;
    this.#callers = counters.createBuckets("caller", bucketsMax);
    this.#applications = counters.createBuckets("application", bucketsMax);
    this.#addresses = counters.createBuckets("address", bucketsMax);
    this.#operations = counters.createBuckets("operation", bucketsMax);
    this.#events = counters.createBuckets("events", bucketsMax);
    this.#address = this.#shareOf(settings.address);
    this.#newDevices = settings.newDevices && this.#shareOf(settings.newDevices);
  }

  ofOperator(operatorId: string, now: number): TokenBucket {
    return this.#callers.find(operatorId, this.#settings.caller, now);
  }

  ofDevice({ applicationId, deviceId, policy: { limits } }: Caller, isNew: boolean, now: number): TokenBucket {
    const limit = limits.caller ?? this.#settings.caller;
    return this.#callers.find(deviceId, isNew ? newDeviceLimit(limit) : limit, now, applicationId);
  }

  isNewDevice(deviceId: string, now: number): boolean {
    return this.#newDevices !== undefined && this.#isYoung(deviceId, now);
  }

  /**
   * An application that raises its device limit raises the address limit in proportion. A lower device limit does not
   * lower the address limit, because many devices may share an address.
   */
  ofAddress(addressKey: string, { applicationId, policy }: Caller, now: number): TokenBucket {
    return this.#addresses.find(
      addressKey,
      raisedLike(this.#address, policy.limits.caller, this.#settings.caller),
      now,
      applicationId,
    );
  }

  /** The additional bucket of an address for its new devices, raised as the address limit is. */
  ofNewDevices(addressKey: string, { applicationId, policy }: Caller, now: number): TokenBucket | undefined {
    if (this.#newDevices === undefined) return undefined;
    const limit = raisedLike(this.#newDevices, policy.limits.caller, this.#settings.caller);
    return this.#addresses.find(`newDevices ${addressKey}`, limit, now, applicationId);
  }

  /** @param own the limit in the application's settings */
  ofApplication(applicationId: string, own: Limit | undefined, now: number): TokenBucket {
    return this.#applications.find(applicationId, this.#shareOf(own ?? this.#settings.application), now, applicationId);
  }

  /** @param own the limit in the application's settings; undefined for the deployment's limit */
  ofAddressLimit(
    kind: AddressLimit,
    applicationId: string,
    { address }: LimitedCall,
    own: Limit | undefined,
    now: number,
  ): TokenBucket {
    const limit = this.#shareOf(own ?? this.#settings.addresses[kind]);
    return this.#addresses.find(`${kind} ${applicationId} ${addressGroup(address)}`, limit, now, applicationId);
  }

  ofUnknown(address: string, now: number): TokenBucket {
    return this.#unknown.find(addressGroup(address), this.#settings.unknown, now);
  }

  /** Finds the application's limit for an operation; the first matching pattern applies. */
  findNamed(route: Limited, call: LimitedCall, caller: AnyCaller): NamedLimit | undefined {
    if (!("policy" in caller) || caller.policy.limits.operations.length === 0) return undefined;
    return caller.policy.limits.operations.find(({ pattern }) => matchesPattern(pattern, route, call.path, caller));
  }

  /** Returns the bucket of the operation, in addition to the general limits. */
  ofOperation(
    route: Limited,
    call: LimitedCall,
    caller: AnyCaller,
    now: number,
    named = this.findNamed(route, call, caller),
  ): TokenBucket | undefined {
    const { addressLimit } = route;
    if (!("policy" in caller)) return undefined;
    const { applicationId, deviceId } = caller;
    if (addressLimit !== undefined) return this.ofAddressLimit(addressLimit, applicationId, call, named?.limit, now);
    return named && this.#operations.find(`${deviceId} ${named.name}`, named.limit, now, applicationId);
  }

  ofEvents({ applicationId, deviceId, policy: { limits } }: Caller, address: string, now: number): TokenBucket[] {
    const { events, caller, application } = this.#settings;
    const near = raisedLike(events.address, limits.caller, caller);
    const all = raisedLike(events.application, limits.application, application);
    return [
      this.#events.find(deviceId, raisedLike(events.caller, limits.caller, caller), now, applicationId),
      this.#events.find(`${applicationId} ${addressGroup(address)}`, this.#shareOf(near), now, applicationId),
      this.#events.find(applicationId, this.#shareOf(all), now, applicationId),
    ];
  }

  /**
   * Returns a process's share of a limit for calls over many connections, which are distributed over the processes. A
   * single device usually calls one process.
   */
  #shareOf({ perSecond, burst }: Limit): Limit {
    return { perSecond: perSecond / this.#processes, burst: Math.max(1, burst / this.#processes) };
  }
}

function newDeviceLimit({ perSecond, burst }: Limit): Limit {
  return { perSecond, burst: Math.min(burst, Math.max(newDeviceBurstMin, burst * newDeviceBurstShare)) };
}

/** Raises a limit in the proportion by which the application has raised another one; never lowers it. */
function raisedLike(limit: Limit, own: Limit | undefined, usual: Limit): Limit {
  const factor = own === undefined ? 1 : Math.max(1, own.perSecond / usual.perSecond);
  return factor === 1 ? limit : { perSecond: limit.perSecond * factor, burst: limit.burst * factor };
}
