import { applicationPathParameters } from "../auth/operated-application.ts";
import { BoundedCount } from "../contract/bounded-count.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { IdInput } from "../contract/wire.ts";
import type { Impact as FoundImpact } from "./applications.impact.store.ts";

export const ImpactOfUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });

const VersionCount = named(
  "AppVersionCount",
  "The number of devices with a version of the app.",
  Type.Object({
    appVersion: Type.Optional(Type.String({ description: "Absent for devices that have reported none." })),
    devices: Type.Integer({ description: "The number of devices that have it." }),
  }),
);

const PlatformCount = named(
  "PlatformCount",
  "The number of devices with a platform.",
  Type.Object({
    platform: Type.String({ description: "As the app reported it." }),
    devices: Type.Integer({ description: "The number of devices that have it." }),
  }),
);

export const Impact = named(
  "Impact",
  "The effects of ending the tokens of a key, an application or a user.",
  Type.Object({
    devices: {
      ...BoundedCount,
      description: "Devices that registered with the key last, of the application, or with a token of the user.",
    },
    userTokens: {
      ...BoundedCount,
      description: "Valid user tokens. Of a key: those on the devices that registered last.",
    },
    activeLastHour: {
      ...BoundedCount,
      description: "Devices that were active in the last hour, or in the hour before.",
    },
    activeLastDay: { ...BoundedCount, description: "Devices that were active in the last day, or in the hour before." },
    appVersions: {
      ...Type.Array(VersionCount),
      description: "The most frequent versions among the devices of activeLastDay, at most 20.",
    },
    platforms: {
      ...Type.Array(PlatformCount),
      description: "The most frequent platforms among them, at most 20.",
    },
    signedShare: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "The share of signed calls in the last 24 hours; absent without calls, and for a user.",
      }),
    ),
  }),
);

/** @param signedShare undefined without calls */
export function presentImpact(
  { devices, userTokens, hour, day, appVersions, platforms }: FoundImpact,
  signedShare: number | undefined,
): Static<typeof Impact> {
  return {
    devices,
    userTokens,
    activeLastHour: hour,
    activeLastDay: day,
    appVersions: appVersions.map(({ appVersion, count }) => ({
      ...(appVersion !== "" && { appVersion }),
      devices: count,
    })),
    platforms: platforms.map(({ platform, count }) => ({ platform, devices: count })),
    ...(signedShare !== undefined && { signedShare }),
  };
}
