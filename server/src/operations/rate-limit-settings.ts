import type { Config } from "../config/config.ts";
import type { Limit } from "../contract/policy.ts";
import type { AddressLimit } from "../contract/route.ts";

/** The limits of the deployment, which applications may override. */
export interface RateLimitSettings {
  /** Per device (with all its users), or per operator. */
  readonly caller: Limit;
  /** Per application and address, for all devices with this address. */
  readonly address: Limit;
  /** Per application and address, for devices in their first minute; undefined for no additional limit. */
  readonly newDevices: Limit | undefined;
  /** Per application. */
  readonly application: Limit;
  /** For metric events. A call contains up to a thousand. */
  readonly events: Readonly<Record<"caller" | "address" | "application", Limit>>;
  /** Per address and process, for requests without a caller. */
  readonly unknown: Limit;
  /** Per address. */
  readonly addresses: Readonly<Record<AddressLimit, Limit>>;
}

type RateLimitConfig = Pick<
  Config,
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
  | "rateLimitUnknownPerSecond"
>;

const operatorSignInsPerSecond = 5;

/** The event limits of an address and an application, as multiples of a device's, about as for calls. */
const eventsFactor = { address: 5, application: 10 };

/** @returns undefined if rate limits are off */
export function readRateLimits(config: RateLimitConfig): RateLimitSettings | undefined {
  if (!config.rateLimits) return undefined;
  const lasting = (perSecond: number, seconds: number) => ({ perSecond, burst: perSecond * seconds });
  return {
    caller: lasting(config.rateLimitCallerPerSecond, 10),
    address: lasting(config.rateLimitAddressPerSecond, 20),
    newDevices:
      config.rateLimitNewDevicesPerSecond === 0 ? undefined : lasting(config.rateLimitNewDevicesPerSecond, 20),
    application: lasting(config.rateLimitApplicationPerSecond, 10),
    events: {
      // A device that was offline reports thousands of events in a burst.
      caller: lasting(config.rateLimitEventsPerSecond, 30),
      address: lasting(config.rateLimitEventsPerSecond * eventsFactor.address, 30),
      application: lasting(config.rateLimitEventsPerSecond * eventsFactor.application, 30),
    },
    unknown: lasting(config.rateLimitUnknownPerSecond, 20),
    // Thousands of phones can share one address and reconnect simultaneously.
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
