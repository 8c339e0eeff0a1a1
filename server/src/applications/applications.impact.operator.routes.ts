import { applicationPathParameters, isUser, requireApplication } from "../auth/operated-application.ts";
import { BoundedCount } from "../contract/bounded-count.ts";
import { named, type Static, Type } from "../contract/schema.ts";
import { IdInput } from "../contract/wire.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { type Impact as FoundImpact, findImpact, type Subject } from "./applications.impact.store.ts";
import { KeyPath, KeysPath } from "./applications.keys.operator.contract.ts";
import { findKey } from "./applications.keys.store.ts";

const ImpactOfUserPath = Type.Object({ ...applicationPathParameters, userId: IdInput("User") });

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

const Impact = named(
  "Impact",
  "The effects of revoking the tokens of a key, an application or a user.",
  Type.Object({
    devices: {
      ...BoundedCount,
      description: "Devices whose latest registration used the key, of the application, or with a token of the user.",
    },
    userTokens: {
      ...BoundedCount,
      description: "Valid user tokens; of a key, those on the devices that registered last.",
    },
    activeLastHour: {
      ...BoundedCount,
      description: "Devices that were active in the last hour, accurate to an hour.",
    },
    activeLastDay: { ...BoundedCount, description: "Devices that were active in the last day, accurate to an hour." },
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
function presentImpact(
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

const description = "Counts stop at 1,000. A device is active when its tokens are used.";

const applicationImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/impact",
  operation: "getImpactOfApplication",
  summary: "Count the effects of revoking all tokens of an application",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: KeysPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid } }, services) {
    await requireApplication(appid, services.database.reads);
    return present(appid, { kind: "application" }, services);
  },
});

const keyImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/keys/{keyId}/impact",
  operation: "getImpactOfKey",
  summary: "Count the effects of revoking the tokens of a key",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: KeyPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, keyId } }, services) {
    const { reads } = services.database;
    await requireApplication(appid, reads);
    if ((await findKey(appid, keyId, reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    return present(appid, { kind: "key", id: keyId }, services);
  },
});

const userImpact = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}/impact",
  operation: "getImpactOfUser",
  summary: "Count the effects of revoking the tokens of a user",
  description,
  tag: "Operators",
  caller: "operator",
  pathParameters: ImpactOfUserPath,
  status: 200,
  result: Impact,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId } }, services) {
    const { reads } = services.database;
    await requireApplication(appid, reads);
    if (!(await isUser(appid, userId, reads))) throw new ApiError("ItemDoesNotExist");
    return present(appid, { kind: "user", id: userId }, services);
  },
});

async function present(appid: string, subject: Subject, services: Services) {
  const { database, clock, tokenUses } = services;
  await tokenUses.save(); // includes activity that is only buffered in memory
  const found = await findImpact(appid, subject, clock.now(), database.reads);
  return presentImpact(found, await readSignedShare(appid, subject, services));
}

/** Returns undefined for a user, because statistics are counted by key. */
async function readSignedShare(appid: string, subject: Subject, { statistics }: Services): Promise<number | undefined> {
  if (subject.kind === "user") return undefined;
  const keys = await statistics.readKeys(appid);
  const used = [...keys].filter(([keyId]) => subject.kind === "application" || keyId === subject.id);
  const [calls, signed] = [sumOf(used.map(([, each]) => each.calls)), sumOf(used.map(([, each]) => each.signed))];
  return calls === 0 ? undefined : Math.round((signed / calls) * 1_000) / 1_000;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, each) => total + each, 0);
}

/** The numbers that operators read before they revoke tokens. */
export const impactOperations = [applicationImpact, keyImpact, userImpact];
