import { findCredentials } from "../auth/credentials.ts";
import type { Tokens } from "../auth/tokens.ts";
import type { Database } from "../db/database.ts";
import { lockRow } from "../db/lock.ts";
import { ApiError } from "../errors.ts";
import { requireEnabled } from "../http/policy.ts";
import type { RateLimits } from "../http/rate-limits.ts";
import { type Route, route } from "../http/route.ts";
import { signRegistration } from "../http/signatures.ts";
import type { Clock } from "../lib/clock.ts";
import { type IdGenerator, kindOfId } from "../lib/ids.ts";
import type { RemoteRegistration } from "../regions/regions.registration.ts";
import type { Regions } from "../regions/regions.ts";
import type { Policies } from "../tenancy/policies.ts";
import {
  ChangeDevice,
  changedFields,
  Device,
  DeviceRegistration,
  presentOwnDevice,
  RegisterDevice,
} from "./devices.contract.ts";
import { crashReportsRoutes } from "./devices.crash-reports.routes.ts";
import { findDevice, insertOrUpdateDevice, updateDevice } from "./devices.store.ts";

/** Registration with an application's credentials, and the device of a token (spec/devices). */
export function devicesRoutes(services: {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly policies: Policies;
  readonly rateLimits: RateLimits;
  readonly regions: Regions;
  readonly remoteRegistration: RemoteRegistration;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, tokens, policies, rateLimits, regions, remoteRegistration, clock, ids } = services;

  const registerDevice = route({
    method: "POST",
    path: "/devices",
    operation: "registerDevice",
    summary: "Register a device",
    tag: "Devices",
    caller: "anyone",
    addressLimit: "registrations",
    parameters: RegisterDevice,
    status: 201,
    result: DeviceRegistration,
    errors: ["ApplicationIdMalformed", "AuthAppCredentialsInvalid", "AuthAPICallDisabledByDeveloper"],
    async handle({ parameters, call }) {
      const { appid, appkey, platform, uniqueId } = parameters;
      if (kindOfId(appid) !== "App") throw new ApiError("ApplicationIdMalformed");
      const credentials = await findCredentials(appid, appkey, { database, policies });
      if ((credentials === undefined || credentials.policy.isMoving) && !call.isForwarded) {
        // Includes applications being imported here: if the move fails, the application stays in its previous region.
        const host = await regions.hostOf(appid);
        if (host !== undefined) return remoteRegistration.register(host, appid, call);
      }
      if (credentials === undefined) throw new ApiError("AuthAppCredentialsInvalid");
      const { policy } = credentials;
      requireEnabled(policy, registerDevice, call.path);
      rateLimits.admitTo({ id: appid, policy }, registerDevice, call);

      const now = clock.now();
      const tokenId = ids.newId("Token");
      const device = await database.write(({ queries }) =>
        insertOrUpdateDevice(
          {
            application_id: appid,
            id: ids.newId("Device"),
            unique_id: uniqueId ?? null,
            platform,
            ...changedFields(parameters, tokenId),
            token_version: 0,
            created_at: now,
            modified_at: now,
            key_id: credentials.keyId,
            registered_at: now,
          },
          queries,
        ),
      );
      const subject = {
        applicationId: appid,
        applicationKeyId: credentials.keyId,
        deviceId: device.id,
        versions: {
          application: credentials.applicationVersion,
          key: credentials.keyVersion,
          device: device.token_version,
        },
        policy,
      };
      const token = tokens.issueDeviceToken(subject, tokenId);
      const { signing } = policy;
      const serviceRoot = regions.serviceRoot({ isForwarded: call.isForwarded === true });
      return {
        ...token,
        ...(serviceRoot !== undefined && { serviceRoot }),
        ...(signing !== undefined && { serverSignature: signRegistration(signing.secret, appkey) }),
      };
    },
  });

  const getDevice = route({
    method: "GET",
    path: "/devices/current",
    operation: "getDevice",
    summary: "Read the device of the token",
    tag: "Devices",
    caller: "device",
    status: 200,
    result: Device,
    errors: [],
    async handle({ caller: { applicationId, deviceId, tokenId } }) {
      const device = await findDevice(applicationId, deviceId, database.reads);
      if (device === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token was checked
      return presentOwnDevice(device, tokenId);
    },
  });

  const changeDevice = route({
    method: "PATCH",
    path: "/devices/current",
    operation: "changeDevice",
    summary: "Change what is known of the device of the token",
    tag: "Devices",
    caller: "device",
    parameters: ChangeDevice,
    status: 200,
    result: Device,
    errors: [],
    async handle({ caller: { applicationId, deviceId, tokenId }, parameters }) {
      const device = await database.write(async ({ queries }) => {
        await lockRow(database.dialect, "devices", applicationId, deviceId, queries);
        const found = await findDevice(applicationId, deviceId, queries);
        if (found === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token was checked
        const changed = { ...changedFields(parameters, tokenId, found), modified_at: clock.now() };
        await updateDevice(applicationId, deviceId, changed, queries);
        return { ...found, ...changed };
      });
      return presentOwnDevice(device, tokenId);
    },
  });

  return [registerDevice, getDevice, changeDevice, ...crashReportsRoutes(services)];
}
